"""Panels and their votes: an opinion that several annotators share counts for each of them, and is held once."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from command_calls import printed
from dissensus import diagnose
from dissensus.study.panel import Panel, concatenate_panels
from dissensus.study.study import Study
from refusals import refused
from voted_studies import voted_study, written_out


def panel(**changes: Any) -> Panel:
    fields: dict[str, Any] = {
        "case_names": ("x", "y"),
        "opinion_offsets": np.array([0, 2, 3]),
        "annotators": np.array([-1, 0, -1]),
        "annotator_names": ("Ann",),
        "votes": np.array([5, 1, 2]),
    }
    return Panel(**(fields | changes))


def test_an_opinion_has_one_vote_and_everything_the_weight_one_unless_more_is_given() -> None:
    alone = panel(votes=np.empty(0, dtype=np.int64))
    assert alone.votes.tolist() == alone.weights.tolist() == [1, 1, 1]
    assert alone.case_weights.tolist() == [1, 1]
    assert not any((alone.has_votes, alone.is_weighted, alone.has_case_weights))
    assert panel(weights=np.array([1.0, 2.0, 1.0])).is_weighted
    assert panel(case_weights=np.array([1.0, 2.0])).has_case_weights
    assert alone == panel(votes=np.ones(3, dtype=np.int64))
    assert alone != panel()


def test_one_vote_each_takes_no_memory() -> None:
    many = Panel(("x",), np.array([0, 100_000]), np.full(100_000, -1), votes=np.ones(100_000, dtype=np.int64))
    assert many.votes.strides == (0,)
    assert pickle.loads(pickle.dumps(many)).votes.strides == (0,)
    with pytest.raises(ValueError, match="read-only"):
        many.votes[0] = 2


def test_votes_count_annotators_and_are_kept_whatever_is_done_to_a_panel() -> None:
    said = panel()
    assert (said.n_opinions, said.n_votes) == (3, 8)
    assert said.votes_per_case.tolist() == [6, 2]
    assert said.opinions_per_case.tolist() == [2, 1]
    assert said.case_of_opinion.tolist() == [0, 0, 1]
    assert said.select(np.array([1, 0]))[0].votes.tolist() == [2, 5, 1]
    assert said.keep(np.array([0, 2])).votes.tolist() == [5, 2]
    both = concatenate_panels([panel(groups=("p", "p")), panel(case_names=("u", "v"))])
    assert (both.votes.tolist(), both.groups) == ([5, 1, 2, 5, 1, 2], ("p", "p", "u", "v"))
    assert pickle.loads(pickle.dumps(said)) == said


RATED = Study.from_counts([[2, 0, 1], [0, 0, 0], [1, 7, 4]], levels=[0, 0.5, 1])


@pytest.mark.parametrize("said", [*map(voted_study, range(3)), RATED])
def test_a_study_says_the_same_as_with_every_vote_written_out(said: Study) -> None:
    out = written_out(said)
    assert said.n_rankings < out.n_rankings == said.n_votes
    assert (repr(said), said.facts(), said.methods()) == (repr(out), out.facts(), out.methods())
    assert diagnose(said).lines() == diagnose(out).lines()
    assert said.unannotated == out.unannotated
    if said.kind == "rankings":
        assert said.to_rankings() == out.to_rankings()
    else:
        assert out == Study.from_scores([[0, 0, 1], [], [0, *[0.5] * 7, *[1] * 4]])
        np.testing.assert_allclose(said.opinions.squares, out.opinions.squares)


def test_counts_make_no_more_rankings_than_cells_have_an_exact_sum_and_abstentions_may_be_shared() -> None:
    said = Study.from_counts(np.full((3, 4), 10**12))
    assert (said.n_rankings, said.n_votes) == (12, 12 * 10**12)
    refused("too many votes", Study.from_counts, [[2**52, 2**52 + 2]])
    said = Study.from_rankings([[[["a"]], []]], ["a", "b"])
    said = replace(said, panel=replace(said.panel, votes=np.array([1, 4])))
    assert (diagnose(said).abstentions, said.counted.n_votes) == (4, 1)


# Tables -----------------------------------------------------------------------------------------------


def test_a_row_per_label_or_score_with_its_votes() -> None:
    table = pl.DataFrame({"case": ["x", "x", "y", "z"], "label": ["a", "b", "a", "c"], "votes": [3, 1, 2, 0]})
    counts = [[3, 1, 0], [2, 0, 0], [0, 0, 0]]
    assert Study.from_long(table) == Study.from_counts(counts, ["a", "b", "c"], case_names=["x", "y", "z"])
    rated = pl.DataFrame({"case": ["x", "x", "y"], "score": [1.0, 2.0, 5.0], "votes": [3, 1, 0]})
    assert Study.from_long(rated) == Study.from_counts([[3, 1], [0, 0]], levels=[1, 2], case_names=["x", "y"])


# Memory -----------------------------------------------------------------------------------------------


MOST_MEGABYTES = 500

SCRIPT = """
import resource, sys
import numpy as np
import dissensus as ds
from dissensus.aggregations import AnnotatorBootstrap, Dirichlet, MajorityVote, PlackettLuce
from dissensus.agreement import annotator_agreement, krippendorff_alpha
from dissensus.certainty import annotation_certainty

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

def work(path, draws):
    said = ds.read(path)
    repr(said), ds.diagnose(said), annotator_agreement(said), krippendorff_alpha(said, draws=10)
    for aggregation in (MajorityVote(), Dirichlet(), PlackettLuce(), AnnotatorBootstrap()):
        annotation_certainty(aggregation.sample(said, draws=draws, threads=2))
    return said.n_votes

small, large = sys.argv[1:]
work(small, 5)
before = peak()
limit = before * 2**20 + 8 * 2**30
resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
votes = work(large, 5)
print(votes, peak() - before)
"""


@pytest.mark.slow
def test_64_million_votes_are_read_and_aggregated_in_little_memory(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    np.save(tmp_path / "small.npy", np.array([[2, 1], [0, 3]]))
    np.save(tmp_path / "large.npy", np.full((10_000, 10), 640))
    paths = [str(tmp_path / name) for name in ("small.npy", "large.npy")]
    votes, megabytes = printed("-c", SCRIPT, *paths).split()
    assert int(votes) == 64_000_000
    assert float(megabytes) < MOST_MEGABYTES
