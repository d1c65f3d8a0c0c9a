"""Studies in pieces say what they say in memory, bit for bit: any piece size, any order, any executor."""

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.aggregations import NormalInverseGamma, NormalInverseGammaPrior
from dissensus.evaluation import influences, labels
from dissensus.metrics import UserDataSetMetric, UserMetric
from dissensus.pieces import evaluation, passes
from dissensus.report.page import report_html
from pieces.random_files import Files, by_case, differences, notes_of, random_files, share_of_hits, sorted_rows
from refusals import refused
from voted_studies import CONDITIONS

pytestmark = pytest.mark.filterwarnings("ignore::dissensus.core.errors.DissensusWarning")

METRICS = ["top-k-accuracy:1", "expected-accuracy", "set-accuracy:1"]
RISKS = ds.Categories.from_mapping(dict(zip(CONDITIONS, [*"lmhlh"], strict=True)), CONDITIONS)


@pytest.fixture(scope="module")
def mixed() -> Files:
    """A study with groups, case weights and labels, a model of scores and one of rankings, for the panel as well."""
    sim = ds.simulate.study(n_cases=130, n_conditions=6, n_annotators=25, seed=3)
    said, rng = sim.annotations, np.random.default_rng(3)
    groups = [f"P{place // 3}" for place in range(said.n_cases)]
    of_case = {"case": said.case_names, "group": groups, "case_weight": rng.integers(1, 9, said.n_cases).astype(float)}
    study = said.to_frame().select("case", "annotator", "condition", "rank").join(pl.DataFrame(of_case), on="case")
    models = {
        name: pl.DataFrame({"case": said.case_names, **dict(zip(said.conditions, one.to_scores().T, strict=True))})
        for name, one in list(sim.predictions.items())[:2]
    }
    sites = ["rare" if place == 7 else f"site {place % 2}" for place in range(said.n_cases)]
    strata = pl.DataFrame({"case": said.case_names, "site": sites})
    truth = pl.DataFrame({"case": said.case_names, "label": rng.choice(said.conditions, said.n_cases)})
    return Files(study, models, strata, {"conditions": said.conditions}, truth)


ASKED: dict[str, Any] = {"aggregations": ["plackett-luce:1", "majority-vote"], "draws": 20, "metrics": METRICS}
PLAIN: dict[str, Any] = {**ASKED, "panel": False, "annotators": "fixed"}
OWN = UserDataSetMetric("own", share_of_hits)


@pytest.fixture(scope="module")
def once(mixed: Files, tmp_path_factory: pytest.TempPathFactory) -> ds.Evaluation:
    return mixed.at_once(tmp_path_factory.mktemp("once"), **ASKED)


# The same numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("aggregations", "reading"),
    [
        (["plackett-luce:1", "annotator-bootstrap"], {"conditions": CONDITIONS}),
        pytest.param(["plackett-luce-ml"], {"unranked": "unobserved", "allow_missing": True}, marks=pytest.mark.slow),
    ],
)
def test_random_studies_say_in_pieces_what_they_say_in_memory(
    aggregations: list[str], reading: dict[str, Any], tmp_path: Path
) -> None:
    files = random_files(1, **reading)
    asked: dict[str, Any] = {"aggregations": aggregations, "metrics": METRICS, "draws": 20}
    asked["categories"] = RISKS if "conditions" in reading else None
    one = files.at_once(tmp_path / "once", **asked)
    other = files.in_pieces(tmp_path, shard_size=9, **asked)
    assert not list(differences(one, other))
    for kind, table in (("per_case", one.per_case()), ("certainty", one.certainties())):
        assert sorted_rows(table).equals(by_case(tmp_path / "run", kind))
    if "conditions" in reading:  # pieces that do not know all conditions cannot tell which a model lacks
        assert notes_of(one) == notes_of(other)


def backwards(_: object, work: Any, settings: bytes, given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give results in the reverse order."""
    return ((name, work(settings, one)) for name, one in reversed(given.items()))


def test_a_panel_with_groups_across_pieces_is_the_same_in_any_order(
    mixed: Files, once: ds.Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert once.panel is not None
    assert "truth" in once.to_frame()["estimand"]
    assert not list(differences(once, mixed.in_pieces(tmp_path / "1000", shard_size=1000, **ASKED)))
    monkeypatch.setattr(evaluation, "worked", backwards)
    given = mixed.written(tmp_path)
    for name, table in (("strata", mixed.strata), ("truth", mixed.truth)):  # which may be text
        assert table is not None
        given[name] = tmp_path / f"{name}.csv"
        table.write_csv(given[name])
    study, models = given.pop("study"), given.pop("predictions")
    first = ds.evaluate_files(study, models, tmp_path / "run", shard_size=20, **given, **ASKED)
    assert not list(differences(once, first))
    assert any(name.endswith("strata.csv") for name in first.inputs)
    again = ds.evaluate_files(study, models, tmp_path / "run", shard_size=20, resume=True, **given, **ASKED)
    assert not in_tables(first, again)


def fewer(files: Files, n_cases: int) -> Files:
    """Keep the first cases."""
    kept = pl.col("case").is_in(files.study["case"].unique(maintain_order=True)[:n_cases].to_list())
    assert files.strata is not None
    models = {name: one.filter(kept) for name, one in files.models.items()}
    return Files(files.study.filter(kept), models, files.strata.filter(kept), files.reading)


def test_curves_are_the_same_in_pieces_while_scores_are_told_apart(
    mixed: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = ["auroc", "sensitivity", "calibration-error", "net-benefit:0.2"]
    asked = {**PLAIN, "aggregations": ["plackett-luce:1"], "draws": 8, "metrics": metrics, "primary": "sensitivity"}
    files = fewer(mixed, 50)
    once, apart = files.at_once(tmp_path / "once", **asked), files.in_pieces(tmp_path, shard_size=20, **asked)
    assert once.primary == apart.primary
    assert apart.primary.startswith("sensitivity")
    assert {one.kind for one in once.lines} >= {"roc", "reliability", "decision", "confusion"}
    for one, other in zip(once.lines, apart.lines, strict=True):
        assert (one.kind, one.model) == (other.kind, other.model)
        np.testing.assert_allclose(one.y, other.y, rtol=1e-9)
    assert not list(differences(once, apart))
    assert apart.remarks == once.remarks
    monkeypatch.setattr(influences, "MOST_MARKS", 16)
    monkeypatch.setattr(passes, "LITTLE", 0)  # as if there were many cases: read a piece at a time
    binned = files.in_pieces(tmp_path / "binned", shard_size=20, **{**asked, "metrics": ["auroc"], "primary": None})
    assert any("scores are in bins, which moves values by at most" in one for one in binned.remarks)
    found, exact = (one.to_frame().filter(metric="AUROC")["mean"].to_numpy() for one in (binned, once))
    assert 1e-6 < np.abs(found - exact).max() < 0.02


def few(**changed_model: Any) -> Files:
    """Make a study of twelve cases with two annotators, and two models: the same one, or one of them changed."""
    cases = [f"c{number}" for number in range(12)]
    said = [name for name in cases for _ in range(2)]
    study = pl.DataFrame({"case": said, "annotator": ["A", "B"] * 12, "condition": ["x", "y", "z"] * 8})
    scores = {name: np.linspace(0.1 * place, 1, 12) for place, name in enumerate("xyz")}
    model = pl.DataFrame({"case": cases, **scores})
    return Files(study, {"M": model, "N": changed(model, **changed_model) if changed_model else model})


FEW: dict[str, Any] = {"aggregations": ["majority-vote"], "metrics": ["top-k-accuracy:1"], "panel": False}


def test_models_that_are_the_same_in_one_piece_only_are_not_the_same(tmp_path: Path) -> None:
    files, asked = few(column="x", value=0.5, row=7), {**FEW, "metrics": ["top-k-accuracy:1", OWN]}
    found = files.in_pieces(tmp_path / "some", shard_size=3, **asked)
    assert not found.sums["least", "same"][0, 1]
    assert not list(differences(files.at_once(tmp_path / "once", **asked), found))  # a function of all cases, too
    assert few().in_pieces(tmp_path / "all", shard_size=3, **FEW).sums["least", "same"][0, 1]


def test_a_panel_of_numbers_is_the_same_in_pieces(tmp_path: Path) -> None:
    sim = ds.simulate.ratings(n_cases=150, models={"A": 0.5, "B": 0.9}, seed=1)
    sim.ratings.to_frame().select("case", "annotator", "rating").write_parquet(tmp_path / "study.parquet")
    files = {name: tmp_path / f"{name}.parquet" for name in sim.predictions}
    for name, said in sim.predictions.items():
        pl.DataFrame({"case": said.case_names, "value": said.numbers}).write_parquet(files[name])
    prior = NormalInverseGammaPrior(0.0, 1.0, 2.0, 1.0)
    asked: dict[str, Any] = {"aggregations": [NormalInverseGamma((0.0,), prior=prior)], "draws": 20}
    one = ds.evaluate(ds.read(tmp_path / "study.parquet", "ratings"), sim.predictions, **asked)
    assert one.panel is not None
    other = ds.evaluate_files(tmp_path / "study.parquet", files, tmp_path / "run", shard_size=60, **asked)
    assert not list(differences(one, other))


def test_what_cannot_be_split_sent_or_held_is_refused(
    mixed: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("dawid-skene", "normal-inverse-gamma"):
        refused(f"{name} cannot be evaluated piece by piece", mixed.in_pieces, tmp_path, aggregations=[name])
    own = UserMetric("own", lambda scores, drawn: drawn[:, :, 0] * scores[:, :1])
    refused("cannot be sent to workers", mixed.in_pieces, tmp_path, **{**ASKED, "metrics": [own], "panel": False})
    monkeypatch.setattr(labels, "MOST_JOINED", 2000)
    caught = refused("too many to be held at once", mixed.in_pieces, tmp_path / "held", **{**PLAIN, "metrics": [OWN]})
    assert caught.got == "0.0 GB: 130 cases with 20 draws"


def test_files_that_are_partitioned_by_case_are_not_split_and_a_case_in_two_of_them_is_told(tmp_path: Path) -> None:
    files = few()
    found = files.in_pieces(tmp_path / "in", n_files=3, partitioned=True, **FEW)
    once = files.at_once(tmp_path / "once", **FEW)
    np.testing.assert_allclose(found.to_frame()["mean"], once.to_frame()["mean"], rtol=1e-12)
    assert sorted(one.name for one in (tmp_path / "in" / "run" / "per_case").iterdir()) == [
        f"part-0-0000{number}.parquet" for number in range(3)
    ]
    study, model = files.study, files.models["M"]
    for told, wrong in {
        "a case is in several files of the study": Files(pl.concat([study, study]), {"M": pl.concat([model, model])}),
        "the cases of the study and of the predictions differ": Files(study, {"M": model[::-1]}),
    }.items():
        refused(told, wrong.in_pieces, tmp_path / told, n_files=2, partitioned=True, **FEW)


@pytest.mark.parametrize("kind", ["numbers", pytest.param("dates", marks=pytest.mark.slow)])
def test_names_of_cases_may_be_anything(kind: str, tmp_path: Path) -> None:
    known = few()
    names = [number + 0.5 if kind == "numbers" else dt.date(2020, 1, number + 1) for number in range(12)]
    study = known.study.with_columns(case=pl.Series([name for name in names for _ in range(2)]))
    files = Files(study, {"M": known.models["M"].with_columns(case=pl.Series(names))})
    one = files.at_once(tmp_path / "once", **FEW)
    other = files.in_pieces(tmp_path / "in", shard_size=3, n_files=1, **FEW)
    assert not list(differences(one, other))
    assert set(one.case_names) == set(other.case_names)


def test_names_across_pieces_that_are_fractions_are_refused(tmp_path: Path) -> None:
    study = pl.DataFrame({"case": list("abcd"), "annotator": ["A"] * 4, "group": ["P"] * 4, "condition": list("xyxy")})
    for role in ("annotator", "group"):
        numbers = study.with_columns(pl.Series(role, [1.0, 1.0, 2.0, 2.5]))
        with pytest.raises(ds.DissensusError, match=f"the {role} of a row is a number with a fraction") as caught:
            Files(numbers).in_pieces(tmp_path / role, aggregations=["majority-vote"], shard_size=1)
        assert "as text" in caught.value.advice


# Any order, any executor --------------------------------------------------------------------------------


def test_executors_and_scratches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = few().at_once(tmp_path / "once", **FEW)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        found = few().in_pieces(tmp_path / "in", shard_size=6, executor=executor, threads=1, **FEW)
    assert not list(differences(once, found))
    conf = pytest.importorskip("fsspec.config").conf
    monkeypatch.setitem(conf, "file", {"auto_mkdir": True})  # as object stores do
    found = few().in_pieces(tmp_path / "out", shard_size=6, scratch=f"file://{tmp_path}/store", **FEW)
    assert not list(differences(once, found))
    assert {one.name for one in (tmp_path / "store").glob("run-*/*")} == {"pieces", "per_case", "certainty"}


# Errors -------------------------------------------------------------------------------------------------


def changed(frame: pl.DataFrame, column: str, value: Any, row: int = 20) -> pl.DataFrame:
    """Write another value into one row."""
    plain = pl.col(column).cast(pl.String) if isinstance(value, str) else pl.col(column)
    return frame.with_columns(pl.when(pl.int_range(pl.len()) == row).then(pl.lit(value)).otherwise(plain).alias(column))


def faults(files: Files) -> dict[str, Files]:
    """Return studies with one fault each, by what is said of it."""
    study, (name, model) = files.study, next(iter(files.models.items()))
    condition = model.columns[2]

    found = {
        "a rank is not a number": (changed(study, "rank", "x"), model),
        "unknown condition 'Nonsense'": (changed(study, "condition", "Nonsense"), model),
        "group": (changed(study, "group", "Q"), model),
        "a score is not a finite number": (study, changed(model, condition, float("nan"))),
        "stands in several rows": (study, pl.concat([model, model[20:21]])),
        "the cases of the study and of the predictions differ": (study, model[1:]),
    }
    return {told: Files(said, {name: scores}, None, files.reading) for told, (said, scores) in found.items()}


def test_faults_in_one_piece_are_told_as_in_memory(mixed: Files, tmp_path: Path) -> None:
    for number, (told, files) in enumerate(faults(mixed).items()):
        place = tmp_path / str(number)
        once = refused(told, files.at_once, place / "once", aggregations=["majority-vote"])
        split = refused(told, files.in_pieces, place / "in", aggregations=["majority-vote"], shard_size=20)
        assert (split.problem, split.expected) == (once.problem, once.expected)
        assert split.where.startswith(str(place / "in"))
        assert "piece" not in split.where.removeprefix(str(tmp_path))
        assert "run" not in Path(split.where).parts


# Results ------------------------------------------------------------------------------------------------


def in_tables(one: ds.Evaluation, other: ds.Evaluation) -> list[str]:
    """Compare with what was loaded: numbers lie otherwise in memory, which moves the last digit of resampled means."""
    return [told for told in differences(one, other) if not told.startswith("per_resample")]


def test_a_sampled_result_is_loaded_saved_reported_and_not_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "SHOWN_CASES", 5)
    found = few(column="x", value=0.5, row=7).in_pieces(tmp_path, shard_size=6, **FEW)
    loaded = ds.load(tmp_path / "run")
    assert loaded == found
    assert not in_tables(found, loaded)
    assert (loaded.is_sample, len(loaded.case_names), loaded.n_cases) == (True, 5, 12)
    found.save(tmp_path / "saved")
    assert not in_tables(found, ds.load(tmp_path / "saved"))
    refused("cannot be merged", loaded.merge, found)
    page = report_html(found)
    facts = page.partition('<p class="facts">')[2].partition("</p>")[0]
    assert "12 cases" in facts
    assert f"{found.n_votes:,} opinions" in facts
    assert "about a random sample of 5 of the 12 cases" in page
