"""Groups of annotators, such as hospitals: read, kept, left out together, and said where a case has one."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.evaluation.annotators import Design, are_crossed
from dissensus.evaluation.first_screen import why_panel_is_withheld
from dissensus.study.canonical import write
from refusals import refused

SITES = ("north", "south", "east", "west", "centre")


def labelled(n: int, *, one_site: bool, sd: float = 0.0, per_case: int = 4, seed: int = 0) -> pl.DataFrame:
    """Draw labels of readers of five sites, each of which sees cases in its own way."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        truth, lean = rng.normal(), sd * rng.normal(size=len(SITES))
        home = rng.integers(len(SITES))
        for place in range(per_case):
            site = home if one_site else (home + place // 2) % len(SITES)
            says = truth + lean[site] + 0.5 * rng.normal() > 0
            rows.append((f"c{i:03}", f"{SITES[site]} {place}", SITES[site], "yes" if says else "no"))
    return pl.DataFrame(rows, ["case", "annotator", "annotator_group", "condition"], orient="row")


def scores(n: int, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return {"A": np.stack([1 - p, p], axis=1), "B": rng.dirichlet([1, 1], size=n)}


def test_groups_are_read_written_kept_and_joined(tmp_path: Path) -> None:
    frame = labelled(12, one_site=False)
    said = ds.Study.from_long(frame)
    assert dict(zip(said.annotator_names, said.panel.annotator_groups, strict=True))["north 0"] == "north"
    write(said, tmp_path / "said.csv")
    assert ds.read(tmp_path / "said.csv") == said
    halves = [said.select(slice(0, 6)), said.select(slice(6, 12))]
    assert set(ds.Study.concatenate(halves).panel.units.tolist()) == set(range(5))
    other = ds.Study.from_long(frame.drop("annotator_group")).with_annotator_groups(
        dict(zip(said.annotator_names, said.panel.annotator_groups, strict=True))
    )
    assert other == said
    ratings = ds.Study.from_long(frame.drop("condition").with_columns(score=pl.lit(1.0)))
    assert ratings.panel.annotator_groups == said.panel.annotator_groups
    result = ds.evaluate(said, scores(12), aggregations=["majority-vote"])
    result.save(tmp_path / "results")
    assert ds.load(tmp_path / "results").study.panel == said.panel


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"annotator_group": ["x", "y"]}, "annotator group changes within one annotator"),
        ({"annotator_group": ["x", None]}, "an annotator or their group is missing"),
        ({"annotator": [None, None], "annotation": [1, 2]}, "an annotator or their group is missing"),
    ],
)
def test_an_annotator_has_one_group(change: dict[str, Any], words: str) -> None:
    rows = {"case": ["a", "b"], "annotator": ["Ada", "Ada"], "annotator_group": ["x", "x"], "condition": ["k", "l"]}
    refused(words, ds.Study.from_long, pl.DataFrame({**rows, **change}))


def test_groups_are_of_named_annotators_who_are_there() -> None:
    said = ds.Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b"], annotator_names=["Ada", "Bo"])
    refused("no annotator 'Cy'", said.with_annotator_groups, {"Cy": "north"})
    refused("the group of some annotators is not known", said.with_annotator_groups, {"Ada": "north"})
    refused("annotators without names", ds.Study.from_counts([[1, 1]], ["a", "b"]).with_annotator_groups, {})


def test_sites_are_left_out_whole() -> None:
    said = ds.Study.from_long(labelled(60, one_site=False))
    design = Design.of(said)
    assert design.n_groups == len(SITES)
    assert are_crossed(said)
    assert not are_crossed(ds.Study.from_long(labelled(60, one_site=True)))


def test_sites_that_see_cases_in_their_own_way_agree_within() -> None:
    frame = labelled(200, one_site=False, sd=1.5)
    sited, single = ds.Study.from_long(frame), ds.Study.from_long(frame.drop("annotator_group"))
    found, plain = (ds.experts(one, scores(200), ["top-k-accuracy:1"]) for one in (sited, single))
    assert found.row("A")["difference"] == pytest.approx(plain.row("A")["difference"], abs=1e-12)
    note = next(note for note in found.notes if "of one group agree" in note)
    within: list[Any] = []
    between: list[Any] = []
    for _, case in frame.group_by("case"):
        rows = case.select("annotator_group", "condition").rows()
        pairs = [(a[0] == b[0], a[1] == b[1]) for a, b in permutations(rows, 2)]
        for own, kind in ((within, True), (between, False)):
            own.append(np.mean([same for is_own, same in pairs if is_own == kind]))
    assert f"agree in {np.mean(within):.2f}, of different groups in {np.mean(between):.2f}" in note
    assert np.mean(within) > np.mean(between) + 0.1


def test_where_a_case_has_one_site_this_is_said_and_the_panel_withheld() -> None:
    said = ds.Study.from_long(labelled(120, one_site=True, sd=1.0))
    result = ds.evaluate(said, scores(120), panel=True, draws=100)
    reasons = why_panel_is_withheld(result)
    assert any("one group of annotators only" in reason for reason in reasons)
    assert any("come from one group of annotators" in note for note in result.experts.notes)  # type: ignore[union-attr]
