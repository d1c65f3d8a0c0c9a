"""What the shards of a study hold together."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus import Annotations, Predictions, Study, examine_annotations, write_annotations
from dissensus.aggregation._evidence import ScoreRange
from dissensus.aggregation.learned import Lessons
from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import DissensusError
from dissensus.core.notes import Note
from dissensus.core.receipt import Receipt
from dissensus.predictions.reader import examine_predictions
from dissensus.shards import contents as module
from dissensus.shards.buckets import Buckets, bucketed
from dissensus.shards.contents import Contents, ModelContents, Reading, merged_receipts
from dissensus.shards.tables import Tables

NAMES = ["eczema", "tinea", "psoriasis", "acne", "wart"]


def rankings(n_cases: int, seed: int, *, text: bool = True) -> pl.DataFrame:
    """Make rows of rankings that stand in any order; an annotator in four says nothing of a case."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[object, ...]] = []
    for case in range(n_cases):
        for annotator in rng.permutation(6)[: rng.integers(1, 4)]:
            mentioned = rng.permutation(NAMES)[: rng.integers(0, 4)]
            name = f"case {case}" if text else case
            rows += [(name, f"A{annotator}", label, rank) for rank, label in enumerate(mentioned, start=1)]
            rows += [(name, f"A{annotator}", None, None)] if not len(mentioned) else []
    last = f"case {n_cases}" if text else n_cases
    rows += [(last, "A0", label, rank) for rank, label in enumerate(NAMES, start=1)]
    schema = {"case": pl.String if text else pl.Int64, "annotator": pl.String, "label": pl.String, "rank": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame[rng.permutation(len(frame))]


def scores(cases: pl.Series, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    named = cases.unique(maintain_order=True)
    columns = {name: rng.random(len(named)) for name in NAMES}
    return pl.DataFrame([named.alias("case"), *(pl.Series(name, values) for name, values in columns.items())])


def split(folder: Path, n_buckets: int, **frames: pl.DataFrame) -> tuple[Buckets, Reading]:
    """Write every input in three files, and split it."""
    tables = {}
    for name, frame in frames.items():
        place = folder / name
        place.mkdir(parents=True)
        size = -(-len(frame) // 3)
        for number in range(3):
            frame[number * size : (number + 1) * size].write_parquet(place / f"{number}.parquet")
        frame.write_parquet(folder / f"{name}.parquet")
        tables[name.replace("_", " ")] = Tables.of(place)
    reading = Reading(
        str(folder / "study"),
        models={f"M{name[6:]}": str(folder / name) for name in frames if name.startswith("model")},
        strata_place=str(folder / "strata"),
    )
    columns = {"study": reading.case_column(tables["study"])}
    for name in tables:
        if name.startswith("model"):
            columns[name] = reading.case_column_of_model(f"M{name[6:]}", tables[name])
        elif name == "strata":
            columns[name] = reading.case_column_of_strata(tables[name])
    return bucketed(tables, columns, folder / "input", n_buckets=n_buckets), reading


def contents_of(reading: Reading, frames: Mapping[str, pl.DataFrame]) -> Contents:
    study = reading.study(frames["study"]).study
    models = {name: reading.model(name, frames[f"model {name[1:]}"], study).predictions for name in reading.models}
    return Contents.of(study, models, reading.strata(frames["strata"], study) if "strata" in frames else None)


def in_words(study: Study) -> dict[str, list[tuple[object, ...]]]:
    """Write every case as what was said of it, by whom and with which weight, in order."""
    said: dict[str, list[tuple[object, ...]]] = {name: [] for name in study.case_names}
    for opinion, case in enumerate(study.panel.case_of_opinion):
        code = study.annotators[opinion]
        who = study.annotator_names[code] if code >= 0 else None
        numbers = float(study.weights[opinion]), int(study.votes[opinion])
        said[study.case_names[case]].append((who, study.words(opinion), *numbers))
    return said


def predicted(model: Predictions) -> dict[str, tuple[object, ...]]:
    parts = [slice(*model.offsets[case : case + 2]) for case in range(model.n_cases)]
    return {
        name: (model.kind, model.complete, model.codes[part].tolist(), model.values[part].tolist())
        for name, part in zip(model.case_names, parts, strict=True)
    }


# Everything at once -------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(n_cases=st.integers(2, 25), n_buckets=st.integers(1, 7), seed=st.integers(0, 99), text=st.booleans())
def test_the_shards_together_are_what_is_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, n_cases: int, n_buckets: int, seed: int, text: bool
) -> None:
    folder = tmp_path_factory.mktemp("contents")
    study = rankings(n_cases, seed, text=text)
    model = scores(study["case"], seed)
    strata = (
        study.select("case").unique(maintain_order=True).with_columns(site=pl.lit("s") + pl.col("case").cast(pl.String))
    )
    found, reading = split(folder, n_buckets, study=study, model_0=model, strata=strata)
    shards = [shard.frames() for shard in found.shards()]
    parts = [contents_of(reading, frames) for frames in shards]
    known = reduce(add, parts)
    assert reduce(add, reversed(parts)) == known
    whole = examine_annotations(folder / "study.parquet")
    of_whole = examine_predictions(
        folder / "model_0.parquet", conditions=whole.study.conditions, cases=whole.study.case_names
    )
    labels = {"site": [f"s{name}" for name in whole.study.case_names]}
    assert replace_listed(known) == replace_listed(Contents.of(whole.study, {"M0": of_whole.predictions}, labels))

    again = reading.knowing(known)
    said: dict[str, list[tuple[object, ...]]] = {}
    predictions: dict[str, tuple[object, ...]] = {}
    receipts = []
    for frames in shards:
        one = again.study(frames["study"])
        assert one.study.conditions == whole.study.conditions
        said |= in_words(one.study)
        predictions |= predicted(again.model("M0", frames["model 0"], one.study).predictions)
        receipts.append(one.receipt)
    assert said == in_words(whole.study)
    assert predictions == predicted(of_whole.predictions)
    merged = merged_receipts(receipts)
    assert merged.path == str(folder / "study")
    assert (merged.format, merged.columns, set(merged.assumed), {note.found: note.count for note in merged.notes}) == (
        whole.receipt.format,
        whole.receipt.columns,
        set(whole.receipt.assumed),
        {note.found: note.count for note in whole.receipt.notes},
    )


def replace_listed(contents: Contents) -> dict[str, object]:
    """Leave out what depends on the list of conditions, which the models of single shards do not know."""
    plain = asdict(contents)
    plain["models"] = {name: {**model, "complete": None} for name, model in plain["models"].items()}
    return plain


def test_ratings_have_a_scale_and_no_conditions(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    study = pl.DataFrame(
        {"case": [f"c{one}" for one in rng.integers(0, 9, 40)], "rater": ["A"] * 40, "score": rng.integers(0, 11, 40)}
    ).unique(["case", "rater"], maintain_order=True)
    found, reading = split(tmp_path, 3, study=study)
    shards = [shard.frames()["study"] for shard in found.shards()]
    known = reduce(add, [Contents.of(reading.study(frame).study, {}) for frame in shards])
    whole = examine_annotations(tmp_path / "study.parquet").study
    assert whole.kind == "ratings"
    assert (known.kind, known.conditions, known.scale, known.unranked) == ("ratings", (), whole.scale, None)
    again = reading.knowing(known)
    said = {name: words for frame in shards for name, words in in_words(again.study(frame).study).items()}
    assert said == in_words(whole)


def test_declared_names_reach_every_shard(tmp_path: Path) -> None:
    said = Annotations.from_rankings(
        [[[["b"]]], [[["a"]], [["b"], ["a"]]], []], ["c", "b", "a"], case_names=["x", "y", "z"]
    )
    write_annotations(said, tmp_path / "said.parquet")
    found, reading = split(tmp_path, 6, study=pl.read_parquet(tmp_path / "said.parquet"))
    parts = [reading.study(shard.frames()["study"]).study for shard in found.shards()]
    assert len(parts) > 1
    assert {part.conditions for part in parts} == {("c", "b", "a")}
    assert reduce(add, [Contents.of(part, {}) for part in parts]).conditions == ("c", "b", "a")


def test_one_probability_per_case_needs_the_conditions_of_the_study(tmp_path: Path) -> None:
    study = pl.DataFrame({"case": ["a", "a", "b", "b"], "annotator": ["A", "B"] * 2, "label": ["no", "yes"] * 2})
    found, reading = split(
        tmp_path, 1, study=study, model_0=pl.DataFrame({"case": ["a", "b", "c"], "yes": [0.9, 0.2, 1]})
    )
    (shard,) = found.shards()
    frames = shard.frames()
    known = contents_of(reading, frames)
    study_of_shard = reading.study(frames["study"]).study
    for one in (reading, reading.knowing(known)):
        assert one.model("M0", frames["model 0"], study_of_shard).predictions.to_scores().round(1).tolist() == [
            [0.1, 0.9],
            [0.8, 0.2],
        ]


def test_codes_are_read_with_the_names_of_the_study() -> None:
    reading = Reading("opinions", models={"A": "scores"})
    study = Annotations.from_rankings([[[["b"]], [["a"]]]], case_names=["x"])
    frame = pl.DataFrame({"case": ["x"], "0": [0.25], "1": [0.75]})
    assert reading.model("A", frame, study).predictions.to_lists() == [[["b"], ["a"]]]


# Contents -----------------------------------------------------------------------------------------------


def study_of(*rows: tuple[str, str], **options: Any) -> Annotations:
    cases = [[[[label]] for label in labels.split()] for _, labels in rows]
    return Annotations.from_rankings(cases, case_names=[name for name, _ in rows], **options)


def test_cases_without_an_opinion_are_counted_and_the_first_named() -> None:
    parts = [Contents.of(study_of((f"k{number}", "a b"), (f"e{9 - number}", "")), {}) for number in range(8)]
    known = reduce(add, parts)
    assert (known.n_cases, known.n_annotated_cases, known.n_excluded) == (16, 8, 8)
    assert known.excluded == ("e2", "e3", "e4", "e5", "e6")


def test_labels_may_be_given_by_case() -> None:
    study = study_of(("x", "a"), ("y", "b"))
    by_case = Contents.of(study, {}, {"site": {"x": "t", "y": "s"}})
    assert by_case == Contents.of(study, {}, {"site": ["t", "s"]})
    assert by_case.strata == {"site": ("s", "t")}


def test_too_many_annotators_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NAMES", 3)
    one = Contents.of(study_of(("x", "a b"), annotator_names=["A", "B"]), {})
    other = Contents.of(study_of(("y", "a b"), annotator_names=["C", "B"]), {})
    last = Contents.of(study_of(("z", "a"), annotator_names=["D"]), {})
    assert (one + other).n_annotators == 3
    assert (one + other + last).n_annotators is None
    assert one + other + last == last + (other + one)
    assert (one + other + last + one).annotator_names is None


@pytest.mark.parametrize("values", [[[0.5, 0.5], [0.2, 0.3]], [[2.0, 1.0], [0.1, 0.2]], [[-1.0, 2.0], [0.0, 1.0]]])
def test_what_scores_are_is_decided_by_annotated_cases(values: list[list[float]]) -> None:
    study = study_of(("x", "a b"), ("y", "b"), ("z", ""))
    model = Predictions.from_scores([*values, [-9.0, 50.0]], ["a", "b"], case_names=["x", "y", "z"])
    found = Lessons.of(study, {"A": model}).ranges["A"]
    assert (found.lowest < 0) == (min(map(min, values)) < 0)
    assert found.most == max(sum(row) for row in values)
    alone = [Lessons.of(study.select([name]), {"A": model.select([name])}) for name in "xyz"]
    assert reduce(add, alone).ranges["A"] == found


def test_numbers_that_look_like_sets_in_some_shards_are_scores() -> None:
    one, other = ModelContents("set", 1), ModelContents("scores", 1)
    assert (one + other).kind == (other + one).kind == "scores"
    assert (ScoreRange("set", 0.0, 2.0) + ScoreRange("scores", 0.0, 1.0)).reading == "scores"
    assert (ModelContents() + one).kind == "set"
    with pytest.raises(DissensusError, match="of several kinds"):
        one + ModelContents("ranking", 1)


def test_kinds_that_were_found_are_said_to_every_shard() -> None:
    reading = Reading("opinions", models={"A": "scores"})
    frame = pl.DataFrame({"case": ["x"], "a": [1], "b": [0]})
    study = study_of(("x", "a b"))
    found = Contents.of(study, {"A": reading.model("A", frame, study).predictions})
    assert found.kinds == {"A": "set"}
    both = found + Contents.of(study, {"A": Predictions.from_scores([[2, 3]], ["a", "b"], case_names=["x"])})
    assert reading.knowing(both).model("A", frame, study).predictions.kind == "scores"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "ratings"}, "the kind is not the same"),
        ({"format": "wide"}, "the format is not the same"),
        ({"unranked": "unobserved"}, "the meaning of not being mentioned is not the same"),
        ({"has_groups": True}, "a case has no group although others have one"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change: dict[str, Any], problem: str) -> None:
    one = Contents.of(study_of(("x", "a b")), {})
    other = replace(one, **change)
    with pytest.raises(DissensusError, match=problem):
        one + other


def test_contents_survive_as_bytes_and_readings_in_json_and_pickle() -> None:
    study = study_of(("x", "a b"), annotator_names=["A", "B"])
    model = Predictions.from_scores([[0.5, 0.5]], ["a", "b"], case_names=["x"])
    known = Contents.of(study, {"A": model}, {"site": ["s"]})
    assert restored(bundled(known), [Contents, ModelContents]) == known
    reading = Reading(
        "o", models={"A": "s"}, conditions=("a", "b"), ignore=("x",), columns={"case": "c"}, limits={"columns": 9}
    )
    assert json.loads(json.dumps(reading.to_dict())) == reading.to_dict()
    assert pickle.loads(pickle.dumps(reading)) == reading


# Errors -------------------------------------------------------------------------------------------------


def test_errors_name_what_the_user_gave_and_the_case_but_no_row_of_the_shard() -> None:
    frame = pl.DataFrame({"case": ["x", "y"], "annotator": ["A", "A"], "label": ["a", "b"], "rank": [1, -1]})
    with pytest.raises(DissensusError) as caught:
        Reading("s3://store/opinions/").study(frame)
    assert caught.value.where == "s3://store/opinions/, case 'y', annotator 'A'"


def test_errors_of_models_name_their_files() -> None:
    reading = Reading("opinions", models={"A": "s3://store/scores/*.parquet"}, conditions=("a", "b"))
    study = study_of(("x", "a b"))
    with pytest.raises(DissensusError) as caught:
        reading.model("A", pl.DataFrame({"case": ["x"], "label": ["c"], "score": [1.0]}), study)
    assert caught.value.where.startswith("s3://store/scores/*.parquet, ")
    with pytest.raises(DissensusError) as caught:
        reading.model("A", pl.DataFrame({"case": ["x", "x"], "a": [0.5, 0.5], "b": [0.5, 0.5]}), study)
    assert "scores/*.parquet" in caught.value.where
    assert "rows 1" not in str(caught.value)


def test_no_known_format_names_what_the_user_gave() -> None:
    with pytest.raises(DissensusError) as caught:
        Reading("s3://store/opinions").study(pl.DataFrame({"x": [1.5]}))
    assert caught.value.where == "s3://store/opinions"


def test_too_many_columns_are_refused() -> None:
    with pytest.raises(DissensusError, match="too many columns"):
        Reading("opinions", limits={"columns": 2}).study(
            pl.DataFrame({"case": ["x"], "annotator": ["A"], "label": ["a"]})
        )


def test_a_shard_without_predictions_is_refused_or_empty() -> None:
    study, nothing = study_of(("x", "a b")), pl.DataFrame(schema={"case": pl.String, "a": pl.Float64, "b": pl.Float64})
    reading = Reading("opinions", models={"A": "scores"})
    with pytest.raises(DissensusError, match="the cases of the study and of the predictions differ") as caught:
        reading.model("A", nothing, study)
    assert caught.value.where == "scores, model 'A'"
    found = Reading("opinions", models={"A": "scores"}, allow_missing=True).model("A", nothing, study)
    assert (found.predictions.n_cases, found.predictions.conditions) == (0, ("a", "b"))
    assert Contents.of(study, {"A": found.predictions}).models["A"] == ModelContents()
    assert [note.count for note in found.receipt.lost] == [1]


def test_cases_without_a_stratum_are_refused() -> None:
    with pytest.raises(DissensusError, match="some cases have no stratum") as caught:
        Reading("opinions", strata_place="sites").strata(
            pl.DataFrame({"case": ["y"], "site": ["s"]}), study_of(("x", "a"))
        )
    assert caught.value.where == "sites"


# Columns of cases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        (["image", "reader", "label"], {}, "image"),
        (["image", "id", "label"], {"ignore": ("image",)}, "id"),
        (["image", "id", "label"], {"columns": {"group": "image"}}, "id"),
        (["image", "x", "label"], {"columns": {"case": "x"}}, "x"),
        (["photo", "Ann", "Bo"], {}, "photo"),
    ],
)
def test_the_column_of_cases_is_found_as_readers_find_it(
    tmp_path: Path, columns: list[str], options: dict[str, Any], expected: str
) -> None:
    pl.DataFrame({name: ["v"] for name in columns}).write_parquet(tmp_path / "1.parquet")
    assert Reading("o", **options).case_column(Tables.of(tmp_path)) == expected


def test_a_column_of_cases_that_is_not_there_is_told(tmp_path: Path) -> None:
    pl.DataFrame({"a": [0.5], "b": [0.5]}).write_parquet(tmp_path / "1.parquet")
    tables = Tables.of(tmp_path)
    reading = Reading("opinions", models={"A": "scores"}, strata_place="sites", columns={"case": "image"})
    finds: list[tuple[Callable[[], str], str]] = [
        (lambda: reading.case_column(tables), "opinions"),
        (lambda: reading.case_column_of_model("A", tables), "scores"),
        (lambda: reading.case_column_of_strata(tables), "sites"),
    ]
    for find, place in finds:
        with pytest.raises(DissensusError) as caught:
            find()
        assert caught.value.where == place


# Receipts -----------------------------------------------------------------------------------------------


def test_receipts_add_up_and_skip_shards_without_anything() -> None:
    skipped = Note("cases without a prediction", 1, "skipped", ("x",), lost=True)
    one = Receipt(
        "scores/", "long", assumed=("one",), notes=(Note("empty sets", 2, "kept", ("a", "b")),), examples=("e",)
    )
    other = Receipt("scores/", "long", assumed=("two",), notes=(Note("empty sets", 3, "kept", ("c",)), skipped))
    merged = merged_receipts([Receipt("scores/", "", notes=(skipped,)), one, other])
    assert (merged.format, merged.assumed, merged.examples) == ("long", ("one", "two"), ("e",))
    assert {note.found: (note.count, note.examples) for note in merged.notes} == {
        "cases without a prediction": (2, ("x",)),
        "empty sets": (5, ("a", "b")),
    }


def test_what_is_known_of_the_whole_takes_the_place_of_what_shards_say() -> None:
    unscored = Note("conditions without a score", 3, "of 5", ("a", "b", "c"))
    fewer = Note("conditions without a score", 2, "of 5", ("b", "d"))
    sums, negative = (Note(found, 1, "kept") for found in (module.SUMS, module.NEGATIVE))
    one = Receipt("scores/", "wide", notes=(unscored, sums, Note(module.BINARY, 2, "kept")))
    other = Receipt("scores/", "wide", notes=(fewer, negative))
    found = {note.found: note.count for note in merged_receipts([one, other], unlisted=("b",)).notes}
    assert found == {"conditions without a score": 1, module.NEGATIVE: 1}
    assert {note.found: note.count for note in merged_receipts([one, one]).notes} == {
        "conditions without a score": 3,
        module.SUMS: 2,
        module.BINARY: 4,
    }
    assert fewer in merged_receipts([one, other]).notes
    assert merged_receipts([one, other], unlisted=()).notes == (negative,)
    assert merged_receipts([one, Receipt("scores/", "wide")]).notes == (sums,)
    extra = Note(module.SUMS, 9, "kept")
    assert extra in merged_receipts([one, one], notes=[extra]).notes


def test_receipts_may_be_merged_two_at_a_time() -> None:
    notes = [(), (Note("empty sets", 2, "kept", ("a",)),), (Note("empty sets", 3, "kept", ("b", "c")),)]
    receipts = [Receipt("s", "long" if note else "", notes=note) for note in notes]
    one, *others = receipts
    assert reduce(lambda before, after: merged_receipts([before, after]), others, one) == merged_receipts(receipts)


def test_receipts_of_several_formats_are_refused() -> None:
    with pytest.raises(DissensusError, match="fit several formats") as caught:
        merged_receipts([Receipt("opinions/", "wide"), Receipt("opinions/", "cleanlab")])
    assert caught.value.where == "opinions/"
