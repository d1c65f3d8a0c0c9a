"""Which studies are tried: sub-studies of what crowds labelled, and simulated rankings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, TypeAlias

from dissensus.core.errors import FormatError
from dissensus.simulate.differential_study import NEAR_TIES, Expertise
from paper.data.chaosnli import CHAOSNLI, load_chaosnli
from paper.data.cifar10h import CIFAR10H, load_cifar10h
from paper.trials.attacks import attacked
from paper.trials.coverage import evaluated, rows_of, with_endless_cases
from paper.trials.crowds import Crowd, Trial, simulated_trial
from paper.trials.family_scores import DataSet, FamilyScores, Judged, annotated_data_sets, scores_of
from paper.trials.safety import safety_rows

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import Path

Watch: TypeAlias = Callable[[str, int, int], None]
"""Is told what begins, how many studies are done, and how many there are."""

CHAOS_TITLE, CIFAR_TITLE = "ChaosNLI", "CIFAR-10H, disputed images"
SIMULATED_TITLE, LIMIT_TITLE = "Simulated rankings", "Models that know the winner of near-ties"

LABELS_ONLY = "{}, labels only"

CHAOS_VOTES, CHAOS_CASES = (2, 3, 5, 10), 400
CIFAR_VOTES, CIFAR_CASES, CIFAR_DISPUTED = (3, 5), 600, 2000
SIMULATED_CONDITIONS, SIMULATED_CASES, SIMULATED_OPINIONS = (60, 419), 400, (3, 5)
FAMILY_STUDIES = 10
"""On how many studies of each kind families of priors are compared, at most."""

CLASSIFIERS: Mapping[str, Expertise] = {
    "calibrated, noise 0.4": Expertise.blurred(0.4),
    "overconfident, noise 0.5": Expertise.blurred(0.5, confidence=2.0),
    "overconfident, noise 0.8": Expertise.blurred(0.8, confidence=1.5),
    "shy, noise 1": Expertise.blurred(1.0, confidence=0.7),
}
"""Models that err like classifiers, of falling quality."""


ATTACKS_EACH = 10
"""How many studies of each attack there are for every study of another kind; they are small."""


@dataclass(frozen=True)
class Effort:
    """How much is tried: studies of each kind, draws of each case; seed and threads as everywhere.

    Attributes
    ----------
    studies, draws, seed, threads
        As said.
    most_cases
        At most so many cases a study, for a quick look; all that are planned by default.
    """

    studies: int = 20
    draws: int = 500
    seed: int = 1
    threads: int | None = None
    most_cases: int | None = None

    def cases(self, planned: int) -> int:
        """Return how many cases a study has.

        >>> Effort(most_cases=100).cases(400), Effort().cases(400)
        (100, 400)
        """
        return planned if self.most_cases is None else min(planned, self.most_cases)


@dataclass(frozen=True, eq=False)
class Arm:
    """Studies of one kind: the experiment, what is known of each case, and how to get the study of a number."""

    experiment: str
    opinions: str
    trial: Callable[[int], Trial]


@dataclass(frozen=True, eq=False)
class Proof:
    """Hold what was found.

    Attributes
    ----------
    rows
        Every estimate and difference of every study beside the truth; see :func:`rows_of`.
    safety
        What models that know nothing, or nothing new, do; see :func:`safety_rows`.
    families
        Held-out scores of families of the informed prior, data set by data set; see :func:`scores_of`.
    attacks
        Simulated attacks, and published data as it is and without scores; see :func:`tried_attacks`.
    effort
        How much was tried.
    minutes
        How long it took.
    """

    rows: pl.DataFrame
    safety: pl.DataFrame
    families: tuple[FamilyScores, ...]
    attacks: tuple[pl.DataFrame, pl.DataFrame]
    effort: Effort
    minutes: float


def proof(data: Path, effort: Effort | None = None, *, watch: Watch | None = None) -> Proof:
    """Try all that is planned with the data of a directory.

    Parameters
    ----------
    data
        Directory with the folders ``chaosnli_snli`` and ``cifar10h``; families are also compared on ``alttest`` and
        ``ecg`` if they are there.
    effort
        How much is tried.
    watch
        Is told what begins, how many studies are done, and how many there are.
    """
    began, chosen = time.monotonic(), effort or Effort()
    chaos, disputed = crowds(data)
    rows = tried([*crowd_arms(chaos, disputed, chosen), *simulated_arms(chosen)], chosen, watch=watch)
    safety, families = tried_safety(chaos, chosen, watch=watch), tried_families(data, chosen, watch=watch)
    attacks = tried_attacks(data, chosen, watch=watch)
    return Proof(rows, safety, families, attacks, chosen, (time.monotonic() - began) / 60)


def crowds(data: Path) -> tuple[Crowd, Crowd]:
    """Load ChaosNLI and the disputed images of CIFAR-10H, with their models."""
    folders = [FilePath(data) / one.folder for one in (CHAOSNLI, CIFAR10H)]
    chaos, images = load_chaosnli(folders[0]), load_cifar10h(folders[1])
    for place, models in zip(folders, (chaos.predictions, images.predictions), strict=True):
        if len(models) < 2:
            raise FormatError("there are no models to try", expected="at least two", where=str(place))
    disputed = Crowd.of(images.annotations, images.predictions).disputed(CIFAR_DISPUTED)
    return Crowd.of(chaos.annotations, chaos.predictions), disputed


def crowd_arms(chaos: Crowd, disputed: Crowd, effort: Effort) -> list[Arm]:
    """Plan sub-studies: few votes of many."""
    planned = [
        *((CHAOS_TITLE, chaos, CHAOS_CASES, votes) for votes in CHAOS_VOTES),
        *((CIFAR_TITLE, disputed, CIFAR_CASES, votes) for votes in CIFAR_VOTES),
    ]
    return [
        Arm(title, f"{votes} votes", partial(_substudy, crowd, effort.cases(n_cases), votes, effort.seed))
        for title, crowd, n_cases, votes in planned
    ]


def simulated_arms(effort: Effort) -> list[Arm]:
    """Plan simulated rankings: models that err like classifiers, and those that know near-ties."""
    planned = [
        *((SIMULATED_TITLE, n_conditions, CLASSIFIERS) for n_conditions in SIMULATED_CONDITIONS),
        (LIMIT_TITLE, SIMULATED_CONDITIONS[0], NEAR_TIES),
    ]
    return [
        Arm(
            title,
            f"{n_conditions} conditions",
            partial(_simulated, effort.cases(SIMULATED_CASES), n_conditions, models, effort.seed),
        )
        for title, n_conditions, models in planned
    ]


def _substudy(crowd: Crowd, n_cases: int, votes: int, seed: int, number: int) -> Trial:
    return crowd.trial(n_cases, votes, seed=(seed, votes, number))


def _simulated(n_cases: int, n_conditions: int, models: Mapping[str, Expertise], seed: int, number: int) -> Trial:
    return simulated_trial(
        n_cases, n_conditions, opinions=SIMULATED_OPINIONS, models=models, seed=10_000 * seed + number
    )


def tried(arms: Sequence[Arm], effort: Effort, *, watch: Watch | None = None) -> pl.DataFrame:
    """Evaluate the studies of all arms; return every estimate and difference beside the truth."""
    import polars as pl

    rows = []
    for place, arm in enumerate(arms):
        for number in range(effort.studies):
            if watch is not None:
                watch(f"{arm.experiment}, {arm.opinions}", place * effort.studies + number, len(arms) * effort.studies)
            trial = arm.trial(number)
            result = evaluated(trial, draws=effort.draws, seed=number, threads=effort.threads)
            where = {"experiment": arm.experiment, "opinions": arm.opinions, "study": number}
            rows += rows_of(result, trial, where)
    return with_endless_cases(pl.DataFrame(rows, infer_schema_length=None))


def tried_safety(chaos: Crowd, effort: Effort, *, watch: Watch | None = None) -> pl.DataFrame:
    """Add, copy and permute models of as many sub-studies; a row for every study and question."""
    import polars as pl

    rows = []
    for number in range(effort.studies):
        if watch is not None:
            watch("safety", number, effort.studies)
        n_cases = effort.cases(CHAOS_CASES)
        rows += safety_rows(chaos, n_cases=n_cases, number=number, draws=effort.draws, seed=effort.seed)
    return pl.DataFrame(rows)


def tried_attacks(data: Path, effort: Effort, *, watch: Watch | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Simulate attacks on the panel estimate, and take the scores from the models of published data."""
    simulated = attacked(studies=ATTACKS_EACH * effort.studies, draws=effort.draws // 2, seed=effort.seed, watch=watch)
    return simulated, tried(label_arms(*crowds(data), effort), effort, watch=watch)


def label_arms(chaos: Crowd, disputed: Crowd, effort: Effort) -> list[Arm]:
    """Plan sub-studies with 3 votes whose models give scores, and the same with labels only."""
    arms = []
    for title, crowd, n_cases in ((CHAOS_TITLE, chaos, CHAOS_CASES), (CIFAR_TITLE, disputed, CIFAR_CASES)):
        for name, one in ((title, crowd), (LABELS_ONLY.format(title), crowd.hardened())):
            arms.append(Arm(name, "3 votes", partial(_substudy, one, effort.cases(n_cases), 3, effort.seed)))
    return arms


def tried_families(data: Path, effort: Effort, *, watch: Watch | None = None) -> tuple[FamilyScores, ...]:
    """Compare families of the informed prior on all data sets of a directory, and on simulated ones."""
    planned = family_data_sets(data, effort)
    found = []
    for one in planned:
        told = None if watch is None else partial(_told, watch, one)
        found.append(scores_of(one, seed=effort.seed, watch=told))
    return tuple(found)


def _told(watch: Watch, data: DataSet, number: int) -> None:
    watch(f"families: {data.title}", number, data.studies)


def family_data_sets(data: Path, effort: Effort) -> list[DataSet]:
    """Take the first studies of every arm, and the data sets with named annotators that are there."""
    studies = min(effort.studies, FAMILY_STUDIES)
    drawn = [_data_set(arm, studies, arm.experiment) for arm in crowd_arms(*crowds(data), effort)]
    made = [_data_set(arm, studies, None) for arm in simulated_arms(effort)]
    return [*drawn, *annotated_data_sets(data, studies), *made]


def _data_set(arm: Arm, studies: int, origin: str | None) -> DataSet:
    """Take the studies of an arm, whose cases have an origin in common, or are other ones in every study."""
    title = f"{arm.experiment}, {arm.opinions}"

    def study(number: int) -> Judged:
        trial = arm.trial(number)
        return trial.annotations, trial.predictions

    return DataSet(title, studies, study, lambda number: origin or f"{title}, {number}")
