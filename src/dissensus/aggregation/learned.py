"""What aggregations learn from a whole study: it adds up over parts, and is given to an aggregation as a fixed thing.

A part that is drawn by an aggregation that was taught has the draws that its cases have in the whole, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dissensus.aggregation._evidence import ScoreRange
from dissensus.aggregation._priors import ChoiceCounts, LearnedPrior
from dissensus.aggregation.base import Aggregation
from dissensus.core.errors import DissensusError
from dissensus.core.value import Value
from dissensus.predictions.lists import Predictions
from dissensus.study.opinions import Opinions, kept_opinions

if TYPE_CHECKING:
    from dissensus.study.study import Study


@dataclass(frozen=True, eq=False)
class Lessons(Value):
    """Hold what the aggregations of an evaluation need to know of the whole study; lessons of parts add up.

    Attributes
    ----------
    choices
        What annotators choose first.
    n_cases
        Number of annotated cases.
    ranges
        Between which limits the scores of every model are, by its name.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.simulate_study(n_cases=40).annotations
    >>> parts = [Lessons.of(said.select(part)) for part in (slice(0, 9), slice(9, 40))]
    >>> parts[1] + parts[0] == Lessons.of(said)
    True
    """

    choices: ChoiceCounts
    n_cases: int
    ranges: Mapping[str, ScoreRange] = field(default_factory=dict)

    @staticmethod
    def of(study: Study, models: Mapping[str, Predictions] | None = None) -> Lessons:
        """Learn from a part of a study, and from what models say about it; the part may have no opinions.

        Parameters
        ----------
        study
            A part of the study, or all of it.
        models
            Predictions by name of the model; of other cases as well.

        Examples
        --------
        >>> from dissensus import Study
        >>> Lessons.of(Study.from_counts([[3, 1]], ["a", "b"])).n_cases
        1
        """
        if study.kind != "rankings":
            return Lessons(ChoiceCounts.none(), int((study.counted.panel.votes_per_case > 0).sum()))
        opinions = kept_opinions(study.counted)
        ranges = {name: ScoreRange.of(_of_annotated(model, opinions)) for name, model in (models or {}).items()}
        return Lessons(ChoiceCounts.of(opinions), opinions.n_cases, ranges)

    def __add__(self, other: Lessons) -> Lessons:
        return Lessons(
            self.choices + other.choices,
            self.n_cases + other.n_cases,
            {name: _range(name, self, other) for name in {**self.ranges, **other.ranges}},
        )


def _of_annotated(model: Predictions, opinions: Opinions) -> Predictions:
    known = set(model.case_names)
    return model.select([name for name in opinions.case_names if name in known])


def _range(name: str, one: Lessons, other: Lessons) -> ScoreRange:
    found = [lessons.ranges[name] for lessons in (one, other) if name in lessons.ranges]
    return found[0] if len(found) == 1 else found[0] + found[1]


def cannot_be_split(spec: Aggregation) -> str:
    """Say why an aggregation has to see all cases at once; nothing if it does not.

    Examples
    --------
    >>> from dissensus import DawidSkene, PlackettLuce
    >>> cannot_be_split(PlackettLuce()), cannot_be_split(DawidSkene())
    ('', 'its chains learn what annotators are like from all cases at once')
    """
    return spec.needs_whole


def taught(spec: Aggregation, lessons: Lessons, conditions: Sequence[str]) -> Aggregation:
    """Fix everything that an aggregation learns; one that learns nothing comes back as it is.

    So does one that models inform: its prior is fitted by :func:`fitted_recipe`, and given case by case.

    Parameters
    ----------
    lessons
        Of the whole study.
    conditions
        Of the whole study, in the order of their codes.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.simulate_study(n_cases=40).annotations
    >>> spec = taught(ds.PlackettLuce(), Lessons.of(said), said.conditions)
    >>> whole, part = (one.sample(said.select(["case 7"]), draws=9).dense() for one in (ds.PlackettLuce(), spec))
    >>> bool((ds.PlackettLuce().sample(said, draws=9).select(["case 7"]).dense() == part).all()), (whole == part).all()
    (True, np.False_)
    """
    reason = cannot_be_split(spec)
    if reason:
        raise DissensusError(f"{spec.id} cannot be drawn part by part", got=reason, advice="draw all cases at once")
    if not spec.learns or spec.is_informed:
        return spec
    prior: Any = spec.parameters()["prior"]
    return spec.with_learned(LearnedPrior.of(lessons.choices.recoded(conditions), prior, spec.parameters()["alpha"]))
