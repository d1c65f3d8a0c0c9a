"""How pieces are read, and what is known of all of them together."""

from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus import Predictions, Study
from dissensus.aggregations.priors import Lessons, ScoreRange
from dissensus.core.bundle import bundled
from dissensus.core.errors import DissensusError
from dissensus.core.receipt import Note, Receipt
from dissensus.pieces import passes as module
from dissensus.pieces.inputs import Input
from dissensus.pieces.passes import Piece, Reading, Survey, merged_receipts

LONG = {"case": ["x"], "annotator": ["A"], "label": ["a"]}
PLACES = {"study": "opinions", "model 0": "scores", "strata": "sites", "truth": "known"}


def reading_of(places: dict[str, str] | None = None, **options: Any) -> Reading:
    """Say how a study and a model are read."""
    return Reading.of({**PLACES, **(places or {})}, ["A"], options)


def study_of(*rows: tuple[str, str], **options: Any) -> Study:
    cases = [[[[label]] for label in labels.split()] for _, labels in rows]
    return Study.from_rankings(cases, case_names=[name for name, _ in rows], **options)


def survey_of(study: Study, **models: Predictions) -> Survey:
    return Survey.of(Piece(study, models))


def refused(problem: str, call: Any, *given: Any) -> DissensusError:
    with pytest.raises(DissensusError, match=problem) as caught:
        call(*given)
    return caught.value


# Reading ------------------------------------------------------------------------------------------------


def test_codes_and_one_probability_per_case_are_read_with_the_names_of_the_study() -> None:
    reading = reading_of()
    study = Study.from_rankings([[[["b"]], [["a"]]]], case_names=["x"])
    codes = pl.DataFrame({"case": ["x"], "0": [0.25], "1": [0.75]})
    assert reading.model(0, codes, study).to_lists() == [[["b"], ["a"]]]
    single = pl.DataFrame({"case": ["x"], "b": [0.25]})
    for one in (reading, survey_of(study).said_to(reading)):
        assert one.model(0, single, study).to_scores().tolist() == [[0.75, 0.25]]


def test_errors_name_what_the_user_gave_and_the_case_but_no_row_of_the_piece() -> None:
    frame = pl.DataFrame({"case": ["x", "y"], "annotator": ["A", "A"], "label": ["a", "b"], "rank": [1, -1]})
    places = {"study": "s3://store/opinions/", "model 0": "s3://store/scores/*.parquet"}
    reading, study = reading_of(places, conditions=("a", "b")), study_of(("x", "a b"))
    assert refused(".", reading.study, frame).where == "s3://store/opinions/, case 'y', annotator 'A'"
    assert refused(".", reading_of().study, pl.DataFrame({"x": [1.5]})).where == "opinions"
    unknown = pl.DataFrame({"case": ["x"], "label": ["c"], "score": [1.0]})
    assert refused(".", reading.model, 0, unknown, study).where.startswith("s3://store/scores/*.parquet, ")
    twice = refused(".", reading.model, 0, pl.DataFrame({"case": ["x", "x"], "a": [0.5] * 2, "b": [0.5] * 2}), study)
    assert "rows 1" not in str(twice)
    refused("too many columns", reading_of(limits={"columns": 2}).study, pl.DataFrame(LONG))
    frames = {"study": pl.DataFrame(LONG), "strata": pl.DataFrame({"case": ["y"], "site": ["s"]})}
    assert refused("no stratum", Piece.read, frames, Reading(PLACES)).where == "sites"
    known = {"study": pl.DataFrame(LONG), "truth": pl.DataFrame({"case": [], "label": []})}
    assert refused("the truth of some cases is not given", Piece.read, known, Reading(PLACES)).where == "known"
    refused("there is no option 'colums' of reading", lambda: reading_of(colums={}))


def test_a_piece_without_predictions_is_empty_and_one_without_common_cases_nothing() -> None:
    nothing = pl.DataFrame(schema={"case": pl.String, "a": pl.Float64, "b": pl.Float64})
    reading = reading_of(allow_missing=True)
    said = reading.model(0, nothing, study_of(("x", "a b")))
    assert (said.n_cases, said.conditions) == (0, ("a", "b"))
    assert Piece.read({"study": pl.DataFrame(LONG), "model 0": nothing}, reading) is None


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
    assert reading_of(**options).case_column("study", Input.of(tmp_path)) == expected


# Surveys ------------------------------------------------------------------------------------------------


def test_surveys_add_up_in_any_order_to_the_same() -> None:
    def shuffled(number: int) -> Survey:
        names, scores = [f"k{number}", f"e{9 - number}"], [[0.5, float(number)], [2.0, 1.0]]
        study = study_of((names[0], "a b"), (names[1], ""), annotator_names=[[f"A{number % 3}", "B"], []])
        return survey_of(study, A=Predictions.from_scores(scores, ["a", "b"], case_names=names))

    parts = [shuffled(number) for number in range(8)]
    known = reduce(add, parts)
    assert bundled(reduce(add, parts[::-1])) == bundled(known)
    assert bundled(reduce(add, parts[:3]) + reduce(add, parts[3:])) == bundled(known)
    assert (known.n_cases, known.lessons[""].n_cases, known.n_counted[""]) == (16, 8, 16)
    assert known.annotators == ("A0", "A1", "A2", "B")
    assert known.crossed == {"A0": 3, "A1": 3, "A2": 2, "B": 8}
    assert sorted(known.annotated) == [f"k{number}" for number in range(8)]
    assert (known.conditions, known.unlisted("A")) == (("a", "b"), ())
    assert survey_of(study_of(("x", "c"))).conditions + (known + parts[0]).conditions == ("c", "a", "b")


def test_too_many_annotators_are_not_kept_and_enough_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NAMES", 3)
    one, other, last = (
        survey_of(study_of((case, "a b"), annotator_names=names))
        for case, names in (("x", ["A", "B"]), ("y", ["C", "B"]), ("z", ["D", "B"]))
    )
    assert [found.annotators for found in (one + other, one + other + last)] == [("A", "B", "C"), None]
    monkeypatch.setattr(module, "LEAST_COMMON", 2)
    monkeypatch.setattr(module, "LEAST_ANNOTATORS", 1)
    assert [found.crossed for found in (one, one + other, one + other + last)] == [{"A": 1, "B": 1}, None, None]


@pytest.mark.parametrize("values", [[[0.5, 0.5], [0.2, 0.3]], [[2.0, 1.0], [0.1, 0.2]], [[-1.0, 2.0], [0.0, 1.0]]])
def test_what_scores_are_is_decided_by_annotated_cases(values: list[list[float]]) -> None:
    study = study_of(("x", "a b"), ("y", "b"), ("z", ""))
    model = Predictions.from_scores([*values, [-9.0, 50.0]], ["a", "b"], case_names=["x", "y", "z"])
    found = Lessons.of(study, {"A": model}).ranges["A"]
    assert (found.lowest < 0) == (min(map(min, values)) < 0)
    assert found.most == max(sum(row) for row in values)
    alone = [Lessons.of(study.select([name]), {"A": model.select([name])}) for name in "xyz"]
    assert reduce(add, alone).ranges["A"] == found


def test_kinds_that_were_found_are_said_to_every_piece() -> None:
    reading, study = reading_of(), study_of(("x", "a b"))
    frame = pl.DataFrame({"case": ["x"], "a": [1], "b": [0]})
    found = survey_of(study, A=reading.model(0, frame, study).with_receipt(None))
    assert found.kinds == {"A": "set"}
    both = found + survey_of(study, A=Predictions.from_scores([[2, 3]], ["a", "b"], case_names=["x"]))
    assert both.said_to(reading).model(0, frame, study).kind == "scores"
    assert (ScoreRange("set", 0.0, 2.0) + ScoreRange("scores", 0.0, 1.0)).reading == "scores"
    refused("of several kinds", add, found, replace(found, kinds={"A": "ranking"}))


def test_pieces_that_do_not_fit_together_are_refused() -> None:
    one = survey_of(study_of(("x", "a b")))
    told = {"kind": "kind", "format": "format", "unranked": "meaning of not being mentioned"}
    for change, what in {**told, "grouping": "grouping of cases"}.items():
        refused(f"the {what} is not the same", add, one, replace(one, **{change: "another"}))  # type: ignore[arg-type]


# Receipts -----------------------------------------------------------------------------------------------


def test_receipts_add_up_and_what_is_known_of_all_cases_takes_the_place_of_what_pieces_say() -> None:
    skipped = Note("cases without a prediction", 1, "skipped", ("x",), lost=True)
    some, more = Note("empty sets", 2, "kept", ("a", "b")), Note("empty sets", 3, "kept", ("c",))
    one = Receipt("scores/", "long", assumed=("one",), notes=(some,), examples=("e",))
    other = Receipt("scores/", "long", assumed=("two",), notes=(more, skipped))
    receipts = [Receipt("scores/", "", notes=(skipped,)), one, other]  # the first piece has nothing
    merged = merged_receipts(receipts)
    assert (merged.format, merged.assumed, merged.examples) == ("long", ("one", "two"), ("e",))
    assert set(merged.notes) == {skipped + skipped, some + more}
    assert merged_receipts([merged_receipts(receipts[:2]), other]) == merged
    refused("format is not the same", merged_receipts, [one, Receipt("scores/", "wide")])
    lacks, fewer = (Note(module.UNSCORED, len(names), "of 5", (*names,)) for names in ("abc", "bd"))
    sums, negative, binary = (Note(found, 1, "kept") for found in (module.SUMS, module.NEGATIVE, module.BINARY))
    one, other = (Receipt("scores/", "wide", notes=own) for own in ((lacks, sums, binary), (fewer, negative)))
    assert {*merged_receipts([one, other]).notes} == {fewer, negative}
    assert {*merged_receipts([one, one]).notes} == {lacks, sums + sums, binary + binary}
    assert {*merged_receipts([one, other], unlisted=("b",)).notes} == {
        Note(module.UNSCORED, 1, "of 5", ("b",)),
        negative,
    }
    assert merged_receipts([one, other], unlisted=()).notes == (negative,)
    assert merged_receipts([one, Receipt("scores/", "wide")]).notes == (sums,)
    extra = Note(module.SUMS, 9, "kept")
    assert extra in merged_receipts([one, one], notes=[extra]).notes
