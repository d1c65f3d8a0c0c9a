"""Writing and reading back loses nothing, whatever the names."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from dissensus import Study, read, simulate, write
from dissensus.study.canonical import long_table
from dissensus.study.panel import MOST_VOTES
from refusals import refused
from strategies import NASTY_NAMES, studies
from voted_studies import voted_study

ENDINGS = ("csv", "tsv", "parquet", "jsonl")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize("ending", ENDINGS)
@given(said=studies())
def test_what_is_written_is_read_back(folder: Path, ending: str, said: Study) -> None:
    write(said, folder / f"study.{ending}", overwrite=True)
    assert read(folder / f"study.{ending}") == said


@pytest.mark.parametrize(("ending", "problem"), [("json", "nested lists"), ("npz", "arrays of rankings")])
@given(said=studies())
def test_nested_lists_and_arrays_restore_anonymous_rankings_or_refuse(
    folder: Path, ending: str, problem: str, said: Study
) -> None:
    path = folder / f"study.{ending}"
    spoken = [[ranking for ranking in case if ranking or ending == "json"] for case in said.to_rankings()]
    bare = Study.from_rankings(spoken, said.conditions, case_names=said.case_names, unranked=said.unranked)
    holds = bare.n_cases if ending == "json" else bare.n_rankings
    if holds:
        write(bare, path, overwrite=True)
        assert read(path) == bare
    if said != bare or (ending == "npz" and not holds):
        refused(f"{problem} cannot hold", write, said, path, overwrite=True)


def test_what_a_form_cannot_hold_is_refused_and_what_it_means_not_to_be_mentioned_is_kept(tmp_path: Path) -> None:
    cut, named = (
        Study.from_rankings([[[["a\0"]]]], ["a\0", "b"]),
        Study.from_rankings([[[["a"]]]], annotator_names=["A"]),
    )
    for said, name, problem in (
        (cut, "a.npz", "names that end in zero bytes"),
        (named, "a.json", r"nested lists cannot hold[^$]*\.parquet"),
        (named, "a.xlsx", r"ending of the output file[^$]*\.csv[^$]*'\.xlsx'"),
        (named, "nowhere/a.csv", "directory to write into does not exist"),
    ):
        refused(problem, write, said, tmp_path / name)
        assert not (tmp_path / name).exists()
    said = Study.from_rankings([[[["a"]]]], ["a", "b"], unranked="unobserved")
    write(said, tmp_path / "a.json")
    assert read(tmp_path / "a.json") == said
    assert read(tmp_path / "a.json", unranked="below").unranked == "below"


def nasty() -> Study:
    names = list(NASTY_NAMES)
    rankings = [[[[code], [(code + 1) % len(names)]]] for code in range(len(names))]
    people = [[name] for name in names]
    return Study.from_rankings(rankings, names, case_names=names, annotator_names=people, groups=names)


GRADED = Study.from_rankings([[[["mild"]], [["severe"]]], [[["none"]]]], ["none", "mild", "severe"], question="grades")
COUNTED = Study.from_counts([[3, 0, MOST_VOTES // 2], [0, 0, 0], [1, 1, 1]], ["a", "b", "c"])


@pytest.mark.parametrize("ending", [*ENDINGS, "json", "npz"])
def test_names_questions_votes_simulated_studies_and_conditions_without_any_case_survive(
    tmp_path: Path, ending: str
) -> None:
    named = (nasty(), simulate.study(n_cases=50, seed=2).annotations, Study.from_rankings([], ["a", "b"]))
    for number, said in enumerate((GRADED, GRADED.asked("conditions"), *named, COUNTED, voted_study(1))):
        if number > 1 and ending not in ENDINGS:
            refused("cannot hold", write, said, tmp_path / f"{number}.{ending}")
            continue
        write(said, tmp_path / f"{number}.{ending}")
        assert read(tmp_path / f"{number}.{ending}") == said


@given(studies())
def test_the_long_table_is_a_frame_like_any_other(said: Study) -> None:
    assert Study.from_long(long_table(said)) == said


def test_the_canonical_form_has_only_the_columns_it_needs() -> None:
    plain = Study.from_rankings([[[["a"], ["b", "c"]], []], []], case_names=["x", "y"])
    assert long_table(plain).columns == ["case", "annotation", "condition", "rank"]
    mentions = [("x", 1, "a", 1), ("x", 1, "b", 2), ("x", 1, "c", 2)]
    declared: list[Any] = [(None, None, name, None) for name in "abc"]
    assert long_table(plain).rows() == [*declared, *mentions, ("x", 2, None, None), ("y", None, None, None)]
    more: dict[str, Any] = {"annotator_names": [["Ann"]], "weights": [[2.0]], "groups": ["p"], "case_weights": [3.0]}
    rich = Study.from_rankings([[[["a"]]]], unranked="unobserved", **more)
    assert long_table(rich).columns == [
        *("case", "annotation", "annotator", "condition", "rank"),
        *("weight", "group", "case_weight", "unranked"),
    ]
