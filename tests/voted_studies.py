"""Studies in which annotators share opinions, and the same studies with every vote written out."""

from dataclasses import replace

import numpy as np

import dissensus as ds
from dissensus.core.ragged import offsets_from_lengths
from dissensus.study.panel import Panel

CONDITIONS = ("a", "b", "c", "d", "e")


def voted_study(seed: int, *, n_cases: int = 8, weighted: bool = True, named: bool = True) -> ds.Study:
    """Make a study of ties, abstentions, weights of halves and doubles, and up to six annotators per anonymous ranking.

    The first case has no ranking, and a case may have one only.
    """
    rng = np.random.default_rng(seed)
    sizes = [0, *rng.integers(1, 5, n_cases - 1)]
    names = [rng.permutation(np.array(["Ann", "Bo", None, None], dtype=object))[:size].tolist() for size in sizes]
    said = ds.Study.from_rankings(
        [[_ranking(rng) for _ in range(size)] for size in sizes],
        CONDITIONS,
        annotator_names=names if named else None,
        weights=[rng.choice([0.5, 1.0, 2.0], size).tolist() for size in sizes] if weighted else None,
        groups=[f"patient {case // 2}" for case in range(n_cases)],
        case_weights=rng.integers(1, 4, n_cases).astype(float).tolist(),
    )
    votes = np.where(said.annotators == -1, rng.integers(1, 7, said.n_rankings), 1)
    return replace(said, panel=replace(said.panel, votes=votes))


def _ranking(rng: np.random.Generator) -> list[list[str]]:
    order = rng.permutation(CONDITIONS)[: rng.integers(0, 5)].tolist()
    cut = int(rng.integers(1, 3))
    return [block for block in (order[:cut], order[cut : cut + 1], order[cut + 1 :]) if block]


def written_out(said: ds.Study) -> ds.Study:
    """Give every vote a row of its own."""
    opinions = np.repeat(np.arange(said.n_opinions), said.votes)
    return said._with_opinions(written_out_panel(said.panel), opinions)


def written_out_ratings(said: ds.Study) -> ds.Study:
    """Give every vote a row of its own."""
    return replace(said, panel=written_out_panel(said.panel), scores=np.repeat(said.scores, said.votes))


def written_out_panel(panel: Panel) -> Panel:
    """Give every vote a row of its own."""
    opinions = np.repeat(np.arange(panel.n_opinions), panel.votes)
    return replace(
        panel,
        opinion_offsets=offsets_from_lengths(np.bincount(panel.case_of_opinion[opinions], minlength=panel.n_cases)),
        annotators=panel.annotators[opinions],
        weights=panel.weights[opinions],
        votes=np.ones(len(opinions), dtype=np.int64),
    )
