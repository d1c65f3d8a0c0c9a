"""Results on disk: they come back exactly, or one error says why not, whatever was changed."""

import copy
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import Dirichlet, PlackettLuce
from dissensus.aggregations.base import RecordedAggregation
from dissensus.core.arrays import FloatArray
from dissensus.core.receipt import Column, Note, Receipt
from dissensus.evaluation import store
from dissensus.metrics import TopKAccuracy, UserMetric
from dissensus.metrics.base import RecordedMetric
from rare import some

STUDY = ds.simulate.study(n_cases=12, n_conditions=8, seed=4)
RECEIPT = Receipt(
    "opinions.csv",
    "long",
    columns=(Column("image", "case", "by its name"), Column("age", "")),
    assumed=("every row is an opinion of its own",),
    notes=(Note("cancelled annotations", 2, "skipped", ("task 1",), lost=True),),
    examples=("annotator A on case 1 said: x",),
)


def hits(scores: FloatArray, plausibilities: FloatArray) -> FloatArray:
    values = np.asarray(scores.argmax(axis=1)[:, None] == plausibilities.argmax(axis=2), dtype=np.float64)
    values[0, 0] = np.nan  # undefined in one draw of one case of every batch
    return values


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    models = dict(list(STUDY.predictions.items())[:2])
    first = next(iter(models))
    models[first] = models[first].with_receipt(dataclasses.replace(RECEIPT, path="A.csv"))
    return ds.evaluate(
        STUDY.annotations.with_receipt(RECEIPT),
        models,
        aggregations=[PlackettLuce(3, alpha=1.0, prior="observed"), Dirichlet(2)],
        metrics=[TopKAccuracy(1), UserMetric("hits", hits, meaning="How often the best is found.")],
        draws=10,
        categories=STUDY.categories,
        strata=STUDY.strata,
    )


@pytest.fixture
def place(result: ds.Evaluation, tmp_path: Path) -> Path:
    result.save(tmp_path / "results")
    return tmp_path / "results"


def described(place: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((place / "run.json").read_text(encoding="utf-8"))
    return content


def write(place: Path, content: dict[str, Any], *, forge: bool = False) -> None:
    """Write run.json, with a checksum that fits if it is to be forged."""
    if forge:
        content = {**content, "checksum": store.checksum(content)}
    (place / "run.json").write_text(json.dumps(content), encoding="utf-8")


def refused(place: Path) -> str:
    with pytest.raises(ds.DissensusError) as caught:
        ds.load(place)
    assert str(place) in str(caught.value)
    return str(caught.value)


# What comes back -----------------------------------------------------------------------------------------


def test_everything_comes_back_exactly(result: ds.Evaluation, place: Path) -> None:
    again = ds.load(place)
    assert again == result
    for table in ("to_frame", "by_category", "by_certainty", "plausibilities"):
        assert getattr(again, table)().equals(getattr(result, table)())
    for column in STUDY.strata:
        assert again.by_group(column).equals(result.by_group(column))
    assert again.compare().to_frame().equals(result.compare().to_frame())
    assert repr(again) == repr(result)
    assert [receipt.path for receipt in result.receipts] == ["opinions.csv", "A.csv"]
    assert again.receipts == result.receipts
    assert [run.spec for run in again.runs] == [PlackettLuce(3, alpha=1.0, prior="observed"), Dirichlet(2)]
    assert (again.points, again.metrics[0]) == (result.points, TopKAccuracy(1))
    metric = again.metrics[1]  # which is not at hand: it keeps its words
    assert isinstance(metric, RecordedMetric)
    assert metric.record() == result.metrics[1].record()
    assert (metric.name, metric.meaning) == ("hits", "How often the best is found.")
    with pytest.raises(ds.DissensusError, match="cannot be computed here"):
        ds.evaluate(STUDY.annotations, STUDY.predictions, aggregations=["dirichlet"], metrics=[metric], draws=5)


def test_receipts_are_stored_without_the_directories_of_files(result: ds.Evaluation, tmp_path: Path) -> None:
    study = result.study.with_receipt(dataclasses.replace(RECEIPT, path="somewhere/unheard-of/opinions.csv"))
    dataclasses.replace(result, study=study).save(tmp_path / "results")
    assert "unheard-of" not in (tmp_path / "results" / "run.json").read_text(encoding="utf-8")
    assert ds.load(tmp_path / "results").receipts == result.receipts


@pytest.mark.parametrize(("name", "value"), [("seed", 99), ("level", 0.5)])
def test_what_was_said_of_the_numbers_cannot_be_changed_unseen(place: Path, name: str, value: float) -> None:
    write(place, {**described(place), name: value})
    assert "a checksum that does not fit" in refused(place)


def test_older_results_have_their_versions_and_need_no_receipts(result: ds.Evaluation, place: Path) -> None:
    content = described(place)
    for part in (content["study"], *content["models"]):
        del part["receipt"]
    write(place, content, forge=True)
    again = ds.load(place)
    assert again == result
    assert again.receipts == ()
    content["versions"]["dissensus"] = "0.0.7"
    write(place, content, forge=True)
    assert ds.load(place).versions["dissensus"] == "0.0.7"


def test_draws_from_elsewhere_come_back_by_name(tmp_path: Path) -> None:
    drawn = Dirichlet().sample(STUDY.annotations, draws=20)
    given = ds.Plausibilities.from_draws(drawn.dense(), conditions=drawn.conditions, case_names=drawn.case_names)
    result = ds.evaluate(STUDY.annotations.select(list(drawn.case_names)), {}, aggregations=[given], draws=20)
    result.save(tmp_path / "results")
    again = ds.load(tmp_path / "results")
    assert again == result
    assert isinstance(again.runs[0].spec, RecordedAggregation)
    with pytest.raises(ds.DissensusError, match="cannot be sampled here"):
        again.runs[0].spec.sample(STUDY.annotations)


def test_numbers_that_are_not_finite_are_missing_in_json(tmp_path: Path) -> None:
    said = ds.Study.from_rankings([[[["a"]]]], ["a", "b"])
    undefined = UserMetric("undefined", lambda _, draws: np.full(draws.shape[:2], np.nan))
    result = ds.evaluate(said, {"A": [[0.0, 1.0]]}, aggregations=["dirichlet"], metrics=[undefined], draws=5)
    result.save(tmp_path / "results")
    for name in ("summary.json", "run.json"):
        json.loads((tmp_path / "results" / name).read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert json.loads((tmp_path / "results" / "summary.json").read_text(encoding="utf-8"))[0]["mean"] is None
    assert np.isnan(ds.load(tmp_path / "results").to_frame()["mean"][0])


# What is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", store.FILES)
def test_a_file_that_is_missing_changed_or_cut_off_is_noticed(place: Path, name: str) -> None:
    content = (place / name).read_bytes()
    (place / name).write_bytes(content[: len(content) * 2 // 3])
    refused(place)
    if name != "run.json":
        half = len(content) // 2
        (place / name).write_bytes(content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :])
        assert "changed or damaged" in refused(place)
    (place / name).unlink()
    assert name in refused(place)


def places_of(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside, of a list of its first item."""
    items = (
        content.items() if isinstance(content, dict) else enumerate(content[:1]) if isinstance(content, list) else ()
    )
    for key, value in items:
        yield (*path, key)
        yield from places_of(value, (*path, key))


def changed(content: dict[str, Any], path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> dict[str, Any]:
    content = copy.deepcopy(content)
    inside: Any = content
    for key in path[:-1]:
        inside = inside[key]
    change(inside, path[-1])
    return content


def remove(inside: Any, key: Any) -> None:
    del inside[key]


def replace(inside: Any, key: Any) -> None:
    inside[key] = {"nothing": 0} if isinstance(inside[key], str) else "something else"


@pytest.mark.parametrize("change", some((remove, replace), replace))
def test_whatever_is_changed_in_run_json_is_noticed_or_if_forged_refused_in_one_clear_error_or_says_the_same(
    result: ds.Evaluation, place: Path, change: Callable[[Any, Any], None]
) -> None:
    content = described(place)
    for path in places_of(content):
        other = changed(content, path, change)
        write(place, other)
        refused(place)
        write(place, other, forge=True)
        of_receipt = path[:2] == ("study", "receipt") and path[2:]
        if of_receipt and path[-1] not in ("everything_was_used", "lost"):  # these follow from the rest
            if change is replace or not (isinstance(path[-1], int) or path[-1] == "reason"):
                refused(place)
            continue  # a shorter list is a list, and no column needs a reason
        try:
            loaded = ds.load(place)
        except ds.DissensusError:
            continue
        np.testing.assert_array_equal(loaded.case_means, result.case_means, err_msg=str(path))


def test_arrays_that_lack_something_are_refused_even_with_a_fitting_hash(place: Path) -> None:
    arrays = store.read_arrays(place / store.ARRAYS)
    for name in [name for name in arrays if name[0] != "sums"]:
        store.write_arrays({key: array for key, array in arrays.items() if key != name}, place / store.ARRAYS)
        content = described(place)
        write(place, {**content, "files": store._hashes(place, is_sample=False)}, forge=True)
        refused(place)


FORGERIES: dict[str, Callable[[Any], Any]] = {
    "shorter": lambda array: array[..., :-1],
    "fewer rows": lambda array: array[:-1],
    "with fewer axes": lambda array: array.reshape(-1) if array.ndim > 1 else array[None],
    "of words": lambda array: np.full(array.shape, "x"),
    "with other codes": lambda array: array + 10**6,
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_arrays_of_other_shapes_types_or_codes_are_refused_or_do_no_harm(
    place: Path, forgery: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, refusals = store.read_arrays(place / store.ARRAYS), 0
    one_of_each = {(name[:2], name[-1], array.ndim): name for name, array in arrays.items()}
    for name in one_of_each.values():
        array = arrays[name]
        if not array.size or not array.ndim or (forgery == "with other codes" and array.dtype.kind != "i"):
            continue
        forged = {**arrays, name: FORGERIES[forgery](array)}
        monkeypatch.setattr(store, "read_arrays", lambda _, forged=forged: forged)
        try:
            loaded = ds.load(place)
        except ds.DissensusError:
            refusals += 1
            continue
        for table in ("to_frame", "by_category", "by_certainty", "per_case", "certainties", "plausibilities", "curves"):
            getattr(loaded, table)()
        for column in loaded.strata:
            loaded.by_group(column)
        loaded.compare().to_frame()
    assert refusals > 10


@pytest.mark.parametrize("version", [0, 1, 99, None, "2", True, 1.5])
def test_other_versions_of_the_schema_are_refused(place: Path, version: Any) -> None:
    write(place, {**described(place), "version": version}, forge=True)
    message = refused(place)
    assert "version of the schema" in message
    assert ("update Dissensus" in message) == (version == 99)
    assert ("evaluate again: dissensus evaluate" in message) == (version != 99)


@pytest.mark.parametrize("text", ["[]", "3", '"text"', "null", "{}", '{"version": 2}'])
def test_a_run_json_that_is_something_else_is_refused(place: Path, text: str) -> None:
    (place / "run.json").write_text(text, encoding="utf-8")
    assert "evaluate again" in refused(place)
