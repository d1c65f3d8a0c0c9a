"""Files that are added to a finished run: only what is new is computed, and what is kept is told."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from command_calls import told
from dissensus.evaluation.store import load
from faults import large_study as large

FIRST, NEW = range(5 * large.PIECES), range(100, 112)
KEPT = "cases before files were added is kept"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study, and a finished run with each of two aggregations."""
    folder = tmp_path_factory.mktemp("appended")
    large.put_large_study(folder)
    return folder


@pytest.fixture
def folder(request: pytest.FixtureRequest, finished: Path, tmp_path: Path) -> Path:
    """A copy of the study with a finished run of the aggregation that a test asks for."""
    aggregation: str = request.param
    kept = aggregation.replace(":", "-")
    if not (finished / kept).exists():
        assert told(finished, *large.words_of(aggregation=aggregation, out=kept)).code == 0
    large.copied(finished, tmp_path)
    (tmp_path / kept).rename(tmp_path / "run")
    return tmp_path


def with_aggregations(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("folder", "aggregation"), [(name, name) for name in names], indirect=["folder"])


def again(folder: Path, aggregation: str, *more: str) -> str:
    """Resume, and return what was said."""
    outcome = told(folder, *large.words_of("--resume", *more, aggregation=aggregation)).done()
    return outcome.err


def fresh(folder: Path, aggregation: str) -> Path:
    """Return another run on everything that is there now."""
    told(folder, *large.words_of(aggregation=aggregation, out="fresh")).done()
    return folder / "fresh"


def rows_by_case(run: Path, table: str) -> pl.DataFrame:
    """Return the tables of all pieces, sorted."""
    found = pl.read_parquet(sorted((run / table).glob("*.parquet")))
    return found.sort(found.columns)


def check_same(run: Path, other: Path) -> None:
    """Assert that two runs that were split differently say the same, but for the last digits of sums."""
    one, two = load(run), load(other)
    assert (one.n_cases, one.case_names, one.runs) == (two.n_cases, two.case_names, two.runs)
    assert_frame_equal(one.to_frame(), two.to_frame(), rel_tol=1e-9)
    assert_frame_equal(one.per_draw(), two.per_draw(), rel_tol=1e-9)
    for table in ("per_case", "certainty"):
        assert rows_by_case(run, table).equals(rows_by_case(other, table))


def parts(run: Path) -> dict[str, bytes]:
    return {name: data for name, data in large.content_of(run).items() if name.startswith(("per_case/", "certainty/"))}


@with_aggregations(large.LEARNS_NOTHING)
def test_without_learning_only_new_cases_are_computed(folder: Path, aggregation: str) -> None:
    before, written = parts(folder / "run"), large.sums_of(folder / "run")
    large.put_opinions(folder, NEW, file="2")
    outcome = told(folder, *large.words_of("--resume", aggregation=aggregation))
    assert outcome.code == 2
    assert "the cases of the study and of the predictions differ" in outcome.err
    assert f"{len(NEW)} cases without a prediction" in outcome.err
    large.put_predictions(folder, NEW, file="2")
    said = again(folder, aggregation)
    assert KEPT not in said
    after, journalled = parts(folder / "run"), large.sums_of(folder / "run")
    assert {name: after[name] for name in before} == before
    assert {name: journalled[name] for name in written} == written
    assert 0 < len(journalled) - len(written) <= len(NEW)
    check_same(folder / "run", fresh(folder, aggregation))


@with_aggregations(large.LEARNS)
def test_what_was_learned_is_kept_and_told_unless_it_is_learned_again(folder: Path, aggregation: str) -> None:
    before, written = parts(folder / "run"), large.sums_of(folder / "run")
    large.put_cases(folder, NEW, file="2")
    said = again(folder, aggregation)
    assert f"what was learned from {len(FIRST)} {KEPT}" in said
    assert f"{len(written)} of " in said
    after = parts(folder / "run")
    assert {name: after[name] for name in before} == before
    assert {name: large.sums_of(folder / "run")[name] for name in written} == written
    kept = large.content_of(folder / "run")
    assert again(folder, aggregation).startswith("the run is finished, and nothing was added: these are its results\n")
    assert large.content_of(folder / "run") == kept
    said = again(folder, aggregation, "--learn-again")
    assert KEPT not in said
    other = fresh(folder, aggregation)
    assert large.content_of(folder / "run")["summary.json"] != kept["summary.json"]
    check_same(folder / "run", other)


@pytest.mark.slow
@with_aggregations(large.LEARNS)
def test_what_was_learned_and_is_damaged_is_learned_again_only_if_asked(folder: Path, aggregation: str) -> None:
    large.put_cases(folder, NEW, file="2")
    (folder / "run" / "pieces" / "learned.bundle").write_bytes(b"")
    outcome = told(folder, *large.words_of("--resume", aggregation=aggregation))
    assert outcome.code == 2
    assert "--learn-again" in outcome.err
    again(folder, aggregation, "--learn-again")
    check_same(folder / "run", fresh(folder, aggregation))


@with_aggregations(large.LEARNS_NOTHING)
def test_new_opinions_on_old_cases_change_only_their_pieces(folder: Path, aggregation: str) -> None:
    written = large.sums_of(folder / "run")
    large.put_opinions(folder, [3, 4], file="2", salt=1)
    said = again(folder, aggregation)
    kept = written.keys() & large.sums_of(folder / "run").keys()
    assert len(written) - 2 <= len(kept) < len(written)
    assert f"{len(kept)} of {len(written)} pieces are finished" in said
    check_same(folder / "run", fresh(folder, aggregation))


@pytest.mark.slow
@with_aggregations(large.LEARNS)
def test_new_conditions_compute_everything_again_and_say_so(folder: Path, aggregation: str) -> None:
    written = large.sums_of(folder / "run")
    large.put_cases(folder, NEW, file="2", conditions=[*large.CONDITIONS, "Vitiligo"])
    said = again(folder, aggregation)
    assert "the files that were added name other conditions: everything is learned and computed again" in said
    assert not written.keys() & large.sums_of(folder / "run").keys()
    check_same(folder / "run", fresh(folder, aggregation))


@pytest.mark.slow
@with_aggregations(large.LEARNS_NOTHING)
def test_files_that_come_one_after_the_other_end_as_all_at_once(folder: Path, aggregation: str) -> None:
    for file, numbers in (("2", NEW[:4]), ("3", NEW[4:8]), ("4", NEW[8:])):
        large.put_cases(folder, numbers, file=file)
        again(folder, aggregation)
    check_same(folder / "run", fresh(folder, aggregation))


@pytest.mark.slow
@with_aggregations(large.LEARNS_NOTHING)
def test_an_old_report_does_not_stay_beside_new_results(folder: Path, aggregation: str) -> None:
    words = [word for word in large.words_of("--resume", aggregation=aggregation) if word != "--no-report"]
    assert told(folder, *words).code == 0
    assert (folder / "run" / "report.html").exists()
    large.put_cases(folder, NEW, file="2")
    again(folder, aggregation)
    assert not (folder / "run" / "report.html").exists()
