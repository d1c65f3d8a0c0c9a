"""Held-out scores of all families on many data sets, and how they differ from those of the family that is used."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray, Path
from dissensus.core.files import read_text
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import read_predictions
from dissensus.study.reading import read
from dissensus.study.study import Study
from paper.trials.families import FAMILIES, USED, Family, LeftOutFirsts

Judged: TypeAlias = tuple[Study, Mapping[str, Predictions]]
"""A study and its models."""

TASKS = ("wax", "lgbteen", "cebab_aspects")
NETWORKS = ("model", "model_1", "model_5")


@dataclass(frozen=True, eq=False)
class DataSet:
    """Say how to get the studies of one kind.

    Attributes
    ----------
    title
        What it is called.
    studies
        How many there are.
    study
        Returns the one of a number.
    cases_of
        Where cases come from, given the number of the study: those of one name and one origin are the same.
    """

    title: str
    studies: int
    study: Callable[[int], Judged]
    cases_of: Callable[[int], str]


@dataclass(frozen=True, eq=False)
class FamilyScores:
    """Hold the scores of one data set.

    Attributes
    ----------
    title
        What it is called.
    cases : (n_left_out,)
        Which case each first choice is about; one may be in several studies.
    values : (families, n_left_out)
        Log-probability of each first choice.
    families
        Their names.
    """

    title: str
    cases: tuple[str, ...]
    values: FloatArray
    families: tuple[str, ...]

    def gains(self, name: str) -> FloatArray:
        """Return how much a family gains on the one that is used, first choice by first choice."""
        return np.asarray(self.values[self.families.index(name)] - self.values[self.families.index(USED.name)])


def scores_of(
    data: DataSet, families: Sequence[Family] = FAMILIES, *, seed: int, watch: Callable[[int], None] | None = None
) -> FamilyScores:
    """Score families on all studies of a data set."""
    cases: list[str] = []
    values = []
    for number in range(data.studies):
        if watch is not None:
            watch(number)
        left = LeftOutFirsts.of(*data.study(number), seed=(seed, number))
        cases += [f"{data.cases_of(number)}: {name}" for name in left.case_names]
        values.append([left.log_scores(family) for family in families])
    return FamilyScores(
        data.title, tuple(cases), np.concatenate(values, axis=1), tuple(family.name for family in families)
    )


def mean_gain(scores: Sequence[FamilyScores], name: str) -> tuple[float, float]:
    """Return how much a family gains on the one that is used, every data set counting alike, and the standard error.

    Cases are what is independent: what is said about one in several studies, or in several data sets, is put together.

    Examples
    --------
    >>> one = FamilyScores("A", ("x", "x", "y"), np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.2]]), (USED.name, "other"))
    >>> gain, error = mean_gain([one], "other")
    >>> round(gain, 3), round(error, 3)
    (0.4, 0.133)
    """
    gains = [one.gains(name) for one in scores]
    pulls = np.concatenate([(gain - gain.mean()) / len(gain) for gain in gains]) / len(gains)
    _, case = np.unique(np.concatenate([np.array(one.cases) for one in scores]), return_inverse=True)
    together = np.bincount(case, weights=pulls)
    spread = np.sqrt((together**2).sum() * len(together) / max(len(together) - 1, 1))
    return float(np.mean([gain.mean() for gain in gains])), float(spread)


def mean_score(scores: Sequence[FamilyScores], name: str) -> float:
    """Return the mean log-probability of a first choice, every data set counting alike."""
    return float(np.mean([one.values[one.families.index(name)].mean() for one in scores]))


# Data sets with named annotators ------------------------------------------------------------------------


def annotated_data_sets(data: Path, studies: int) -> list[DataSet]:
    """Find the tasks of ``alttest`` and the electrocardiograms of ``ecg`` in a directory, those that are there.

    Each is one study, from which annotators are left out as often as there should be studies.
    """
    place = FilePath(data)
    tasks = [(f"alttest, {task}", place / "alttest" / task, load_task) for task in TASKS]
    found = [*tasks, ("electrocardiograms", place / "ecg", load_electrocardiograms)]
    return [_repeated(title, studies, load(folder)) for title, folder, load in found if folder.is_dir()]


def _repeated(title: str, studies: int, judged: Judged) -> DataSet:
    return DataSet(title, studies, lambda _: judged, lambda _: title)


def load_task(folder: FilePath) -> Judged:
    """Load the labels of people, and those of language models that take their place.

    Parameters
    ----------
    folder
        Has ``human_annotations.json`` and ``llm_annotations.json``: who, then case, then label.
    """
    people, judges = (_given_labels(folder / f"{kind}_annotations.json") for kind in ("human", "llm"))
    known = set.intersection(*(set(said) for said in judges.values()))
    cases = sorted({case for said in people.values() for case in said} & known)
    labels = sorted({label for said in (*people.values(), *judges.values()) for label in said.values()})
    opinions = [[[[said[case]]] for said in people.values() if case in said] for case in cases]
    models = {
        name: Predictions.from_rankings([[said[case]] for case in cases], labels, case_names=cases, name=name)
        for name, said in judges.items()
    }
    return Study.from_rankings(opinions, labels, case_names=cases), models


def _given_labels(file: FilePath) -> dict[str, dict[str, str]]:
    everyone = json.loads(read_text(file))
    return {
        who: {case: str(label) for case, label in said.items() if label is not None} for who, said in everyone.items()
    }


def load_electrocardiograms(folder: FilePath) -> Judged:
    """Load what people found in electrocardiograms, all that one finds tied, and the probabilities of networks.

    Parameters
    ----------
    folder
        Has ``opinions_ties.csv`` (case, annotator, condition) and ``pred7_NAME.csv``, a column for every condition.
    """
    models = {name: read_predictions(folder / f"pred7_{name}.csv", name=name, kind="scores") for name in NETWORKS}
    conditions = next(iter(models.values())).conditions
    said = read(folder / "opinions_ties.csv", conditions=conditions)
    return said, {name: model.align(said.case_names, said.conditions) for name, model in models.items()}
