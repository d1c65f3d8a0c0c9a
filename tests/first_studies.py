"""Small evaluations of every kind of question, of which the first screen and the page are looked at."""

from functools import cache
from typing import Any

import numpy as np

import dissensus as ds

SAMPLED: dict[str, Any] = {"draws": 60, "annotators": "fixed"}


@cache
def evaluated(kind: str) -> ds.Evaluation:
    if kind == "ratings":
        study = ds.simulate.ratings(n_cases=40, seed=2)
        noise = np.random.default_rng(0).normal(size=40)
        return ds.evaluate(study.ratings, {"A": study.truth, "B": study.truth + noise}, **SAMPLED)
    if kind == "binary":
        binary = ds.simulate.binary(n_cases=60, seed=2)
        return ds.evaluate(binary.annotations, binary.predictions, margin=0.1, called="radiologist", **SAMPLED)
    if kind == "findings":
        findings = ds.simulate.checklists(n_cases=40, seed=2)
        return ds.evaluate(findings.annotations, findings.predictions, aggregations=["plackett-luce:1"], **SAMPLED)
    known = ds.simulate.study(n_cases=60, n_conditions=6, seed=2)
    models: dict[str, Any] = dict(known.predictions)
    if kind == "ten models":
        rng = np.random.default_rng(0)
        scores = known.predictions["Birch"].to_scores()
        models = {f"M{i}": rng.dirichlet(np.ones(6), 60) + 0.2 * scores for i in range(9)} | {
            "best": scores * 0 + truth()
        }
    if kind == "dead heat":
        scores = known.predictions["Birch"].to_scores()
        models = {"one": scores, "other": np.roll(scores, 0, axis=0) ** 1.1}
    question: dict[str, Any] = {
        "aggregations": ["plackett-luce:1,3"],
        "metrics": ["top-k-accuracy:1", "top-k-accuracy:3"],
    }
    return ds.evaluate(known.annotations, models, **question, **SAMPLED)


def truth() -> np.ndarray[Any, Any]:
    """Return the shares of first choices: nobody agrees better with one annotator than who names the largest."""
    said = ds.simulate.study(n_cases=60, n_conditions=6, seed=2).annotations
    shares = np.zeros((60, 6))
    for case, rankings in enumerate(said.to_rankings()):
        for ranking in rankings:
            for name in ranking[0]:
                shares[case, said.conditions.index(name)] += 1 / len(ranking[0])
    return shares


KINDS = ("conditions", "binary", "findings", "ratings", "ten models", "dead heat")
