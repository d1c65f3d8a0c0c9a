"""The first look at every shard: what has to be known of the whole before any case is evaluated."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.aggregation._evidence import ScoreRange
from dissensus.aggregation._priors import ChoiceCounts
from dissensus.aggregation.learned import Lessons
from dissensus.aggregation.prior_recipe import LEARNING_CASES
from dissensus.core.bundle import bundled, restored
from dissensus.core.names import in_order_of_keys
from dissensus.core.notes import Note
from dissensus.core.receipt import Column, Receipt
from dissensus.evaluation.annotators import LEAST_ANNOTATORS, LEAST_COMMON, MOST_CASES, shared_cases
from dissensus.evaluation.batches import added_by_key
from dissensus.predictions.lists import Predictions
from dissensus.shards.buckets import frames_from
from dissensus.shards.contents import Contents, ModelContents, Reading, merged_receipts
from dissensus.shards.shard_content import ShardContent, read_shard
from dissensus.study.study import Study


@dataclass(frozen=True)
class Sampled:
    """The cases with the smallest keys, in the order of keys; samples of different cases add up."""

    names: tuple[str, ...]
    most: int

    @staticmethod
    def of(names: Sequence[str], most: int) -> Sampled:
        """Choose some of these cases.

        >>> Sampled.of(["a", "b", "c"], 2) + Sampled.of(["d"], 2) == Sampled.of(["d", "c", "b", "a"], 2)
        True
        """
        return Sampled(tuple(names[place] for place in in_order_of_keys(names)[:most]), most)

    def __add__(self, other: Sampled) -> Sampled:
        return Sampled.of((*self.names, *other.names), self.most)


@dataclass(frozen=True)
class Crossing:
    """Count the cases that each annotator shares with another one, until it is known that enough do.

    Attributes
    ----------
    counts
        By name of the annotator; empty once it is known.
    is_known
        Whether at least three annotators share at least ten cases.
    """

    counts: Mapping[str, int]
    is_known: bool = False

    @staticmethod
    def of(study: Study) -> Crossing:
        """Count the cases of a study."""
        found = shared_cases(study)
        names = study.counted.panel.annotator_names
        return Crossing({name: int(count) for name, count in zip(names, found, strict=False) if count})._settled()

    def __add__(self, other: Crossing) -> Crossing:
        if self.is_known or other.is_known:
            return Crossing({}, True)
        both = {name: self.counts.get(name, 0) + other.counts.get(name, 0) for name in {**self.counts, **other.counts}}
        return Crossing(dict(sorted(both.items())))._settled()

    def _settled(self) -> Crossing:
        enough = sum(count >= LEAST_COMMON for count in self.counts.values()) >= LEAST_ANNOTATORS
        return Crossing({}, True) if enough else self


@dataclass(frozen=True, eq=False)
class Examined:
    """What is known of some shards; shards add up, in any order to the same.

    Attributes
    ----------
    contents
        Conditions, kinds, counts.
    lessons
        What aggregations learn, by finding; under the name "" of a study of cases.
    everyone, annotated
        Samples of all cases, and of those with an opinion.
    crossing
        Whether annotators share cases.
    n_counted
        Number of opinions that count, by finding.
    widest
        By model: how many conditions it lists for a case, at most.
    receipts
        What was understood of the files: of opinions, then of each model.
    """

    contents: Contents
    lessons: Mapping[str, Lessons]
    everyone: Sampled
    annotated: Sampled
    crossing: Crossing
    n_counted: Mapping[str, int]
    widest: Mapping[str, int]
    receipts: tuple[Receipt, ...]

    @staticmethod
    def of(content: ShardContent) -> Examined:
        """Look at the cases of a shard."""
        study, asked = content.study, content.questions
        counts = study.counted.panel.votes_per_case
        annotated = [name for name, count in zip(study.case_names, counts, strict=True) if count]
        return Examined(
            Contents.of(study, content.models, {name: [*labels.values()] for name, labels in content.strata.items()}),
            {finding: Lessons.of(*asked.of_part(rows)) for finding, rows in asked.parts.items()},
            Sampled.of(study.case_names, MOST_CASES),
            Sampled.of(annotated, LEARNING_CASES),
            Crossing.of(asked.study),
            {finding: _n_counted(*asked.of_part(rows)) for finding, rows in asked.parts.items()},
            {name: int(model.entries_per_case.max(initial=0)) for name, model in asked.models.items()},
            content.receipts,
        )

    def __add__(self, other: Examined) -> Examined:
        return Examined(
            self.contents + other.contents,
            added_by_key(self.lessons, other.lessons),
            self.everyone + other.everyone,
            self.annotated + other.annotated,
            self.crossing + other.crossing,
            added_by_key(self.n_counted, other.n_counted),
            {name: max(size, other.widest[name]) for name, size in self.widest.items()},
            tuple(merged_receipts(pair) for pair in zip(self.receipts, other.receipts, strict=True)),
        )


def _n_counted(study: Study, models: Mapping[str, Predictions]) -> int:  # noqa: ARG001 - a part has models, too
    """Count the opinions of a part."""
    return int(study.counted.panel.votes_per_case.sum())


CLASSES = (
    *(Examined, Contents, ModelContents, Lessons, ChoiceCounts, ScoreRange, Sampled, Crossing),
    *(Receipt, Column, Note),
)
"""What may be in the file of a shard that was looked at."""


def examine_shard(settings: bytes, payload: bytes) -> bytes:
    """Look at the cases of a shard: the work of the first pass; nothing if it has none that all models have."""
    reading, names = pickle.loads(settings)
    content = read_shard(frames_from(payload), reading, names)
    return bundled(None if content is None else Examined.of(content))


def settings_of(reading: Reading, names: tuple[str, ...]) -> bytes:
    """Write what :func:`examine_shard` needs to know."""
    return pickle.dumps((reading, names))


def examined_from(data: bytes) -> Examined | None:
    """Read what :func:`examine_shard` gave."""
    found: Any = restored(data, CLASSES)
    assert found is None or isinstance(found, Examined)
    return found
