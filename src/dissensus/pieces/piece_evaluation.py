"""What is done on a piece wherever that is: its cases evaluated, or summed over where a prior is fitted.

The sums of a piece are a file; those of all pieces together are a mapping of which only what is asked for is in memory.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.case_prior import REFITS, PriorRecipe, prior_of
from dissensus.aggregations.priors import Lessons, taught
from dissensus.aggregations.rating_prior import RatingPrior
from dissensus.core.aliases import FloatArray
from dissensus.core.bundle import DAMAGE, bundled
from dissensus.core.errors import FormatError
from dissensus.core.names import case_keys, in_order_of_keys
from dissensus.evaluation.assembly import assembled
from dissensus.evaluation.influences import data_set_metrics
from dissensus.evaluation.plan import Plan, informed_by
from dissensus.evaluation.questions import Questions
from dissensus.evaluation.refits import InformedPrior
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.sums import JOINED, Array, CaseWeights, Name, Sums, side_by_side
from dissensus.pieces.partition import parquet
from dissensus.pieces.piece import Piece, Reading
from dissensus.predictions.lists import Predictions
from dissensus.study.opinions import kept_opinions
from dissensus.study.study import Study

# How many cases with the least certainty are kept to be looked at.
MOST_DISPUTED = 500

# How many cases without any opinion are kept by name.
MOST_NAMED = 20

EXCLUDED = ("rows", "excluded")
DISPUTED = (("rows", "disputed names"), ("rows", "disputed certainties"))


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from all cases.

    Attributes
    ----------
    key
        Digest of what it was learned for and from.
    conditions
        Of the study.
    lessons
        What aggregations learn, by finding; under the name "" of a study of cases.
    recipes
        How the prior that models inform is made, by finding; empty if there is none. Of ratings, the prior of a sample
        of the cases.
    refits : (n_refits, n_coefficients)
        What resamples of the cases would have, for each of them.
    """

    key: str
    conditions: tuple[str, ...]
    lessons: Mapping[str, Lessons]
    recipes: Mapping[str, PriorRecipe | RatingPrior]
    refits: Mapping[str, FloatArray]

    def taught(
        self, finding: str, specs: Sequence[Aggregation], conditions: tuple[str, ...]
    ) -> tuple[Aggregation, ...]:
        """Give aggregations what they learn; those that models inform get a prior of every case instead."""
        lessons = self.lessons[finding]
        return tuple(spec if spec.is_informed else taught(spec, lessons, conditions) for spec in specs)


@dataclass(frozen=True, eq=False)
class Settings:
    """What the evaluation of a piece needs to know.

    Attributes
    ----------
    reading
        How pieces are read.
    plan
        What is computed.
    specs
        The aggregations as they were asked for.
    learned
        What was learned from all cases.
    level
        Probability that intervals hold.
    threads
        How many threads draw.
    reference
        The run that says which cases have the least certainty.
    """

    reading: Reading
    plan: Plan
    specs: tuple[Aggregation, ...]
    learned: Learned
    level: float
    threads: int | None = None
    reference: int = 0

    def informed(self, finding: str, study: Study, models: Mapping[str, Predictions]) -> tuple[Plan, Study]:
        """Give the aggregations what they learned of a part, and those that ask for it the prior of its cases.

        The cases come back in the order of their keys, in which a plan and its prior take them.
        """
        learned, names = self.learned, [study.case_names[i] for i in in_order_of_keys(study.case_names)]
        study = study.select(names)
        specs = learned.taught(finding, self.specs, study.conditions)
        recipe = learned.recipes.get(finding)
        if recipe is None:
            return replace(self.plan, aggregations=specs), study
        said = {name: model.select(names) for name, model in models.items()}
        if isinstance(recipe, PriorRecipe):
            prior: InformedPrior = prior_of(recipe, study.opinions, said)
        else:
            prior = recipe.about(study, said)
        informed = tuple(informed_by(spec, prior) for spec in specs)
        return replace(self.plan, aggregations=informed, refits=learned.refits[finding]), study

    def tally(self, asked: Questions) -> Sums:
        """Sum over the rows of every part on which somebody said anything."""
        found = []
        for finding, rows in asked.parts.items():
            study, models = asked.of_part(rows)
            if study.counted.panel.votes_per_case.any():
                plan, study = self.informed(finding, study, models)
                found.append(plan.tally(study, models, asked.strata, threads=self.threads))
        return Sums.joined(found)

    def assembled(self, asked: Questions, sums: Sums, **known: Any) -> Evaluation:
        """Put what came out for rows together."""
        given = {"study": asked.study, "models": asked.models, "labels": asked.labels, "level": self.level}
        return assembled(self.plan, self.specs, sums, threads=self.threads, **{**given, **known})

    @property
    def of_cases(self) -> Settings:
        """The same without metrics of a whole data set, of which a piece alone says nothing."""
        metrics = tuple(metric for metric in self.plan.metrics if metric.sees != "data set")
        return replace(self, plan=replace(self.plan, metrics=metrics))


def evaluate_piece(settings: bytes, payload: bytes) -> bytes:
    """Evaluate the cases of a piece: the work of the second pass; by kind of output, the bytes of a file.

    Of single cases, all pieces together need groups, the least certain ones, and those without an opinion; metrics of a
    whole data set need labels of draws, names and certainties of all cases as well.
    """
    how: Settings = pickle.loads(settings)
    how = replace(how, plan=replace(how.plan, sketches=False))
    piece = Piece.read(payload, how.reading)
    if piece is None or not piece.questions.study.counted.panel.votes_per_case.any():
        return bundled({"sums": written(excluded(() if piece is None else piece.questions.study.case_names))})
    asked, metrics = piece.questions, how.plan.metrics
    for metric in metrics:
        for model in asked.models.values():
            metric.check(model)
    sums = how.tally(asked)
    result = how.of_cases.assembled(asked, sums)
    tables = {"certainty": parquet(result.certainties())}
    if result.metrics or not asked.models:
        tables["per_case"] = parquet(result.per_case())
    has_labels = bool(data_set_metrics(metrics))

    def is_kept(name: Name) -> bool:
        if name[0] not in JOINED or name[1] in ("group keys", "group sums"):
            return True
        return has_labels and (name[0] == "rows" or (name[0] == "profile" and name[-1] == "certainties"))

    names, certainties = sums["rows", "names"], ("profile", f"run {how.reference}", "certainties")
    known = set(names.tolist())
    kept = {**sums.only(is_kept).arrays, **excluded([one for one in asked.study.case_names if one not in known]).arrays}
    if certainties in sums and len(sums[certainties]):
        kept |= zip(DISPUTED, least(names, sums[certainties][0]), strict=True)
    return bundled({**tables, "sums": written(Sums(kept))})


def sum_piece(settings: bytes, payload: bytes) -> bytes:
    """Sum over the cases of a piece what the fit of an informed prior asks for: the work of its passes."""
    reading, request, seed, finding = pickle.loads(settings)
    piece = Piece.read(payload, reading)
    if piece is None:
        return bundled(None)
    asked = piece.questions
    study, models = asked.of_part(asked.parts[finding])
    study = study.select(in_order_of_keys(study.case_names))  # the order of rows changes no bit of the sums
    opinions = kept_opinions(study.counted)
    if not opinions.n_cases:
        return bundled(None)
    if request.sought != "refits":
        return bundled(request.of_part(opinions, models))
    # each case counts as in the first resamples
    weights = CaseWeights.of(study.panel, seed)
    cases = study.panel.positions(list(opinions.case_names))
    return bundled(request.of_part(opinions, models, weights.bootstrap(cases, REFITS)))


# Sums ----------------------------------------------------------------------------------------------------


def excluded(names: Sequence[str]) -> Sums:
    """Count cases without any opinion, and name the first ones.

    >>> float((excluded(["b", "a"]) + excluded(["c"]))["excluded",])
    3.0
    """
    return Sums({("excluded",): np.array(float(len(names))), EXCLUDED: np.array(sorted(names)[:MOST_NAMED], np.str_)})


def least(names: Array, certainties: Array) -> tuple[Array, Array]:
    """Keep the cases with the least certainty, beginning with the least; equal ones in the order of their keys.

    >>> least(np.array(["a", "b"]), np.array([0.9, 0.2]))[0].tolist()
    ['b', 'a']
    """
    order = np.lexsort((case_keys(names.tolist()), certainties))[:MOST_DISPUTED]
    return names[order], certainties[order]


def written(sums: Sums) -> bytes:
    """Write sums as an npz file; the same sums give the same bytes."""
    file = io.BytesIO()
    names = json.dumps(list(sums.arrays)).encode()
    np.savez_compressed(file, *sums.arrays.values(), names=np.frombuffer(names, dtype=np.uint8))
    return file.getvalue()


@dataclass(frozen=True, eq=False)
class AllPieces(Mapping[Name, Array]):
    """Sums of all pieces: what adds up is in memory, and what grows with the cases is read when it is asked for.

    Attributes
    ----------
    added
        Sums over all cases.
    files
        In the order of pieces: of what is put side by side, where the files have it.
    """

    added: Mapping[Name, Array]
    files: Mapping[Name, Mapping[FilePath, int]]

    @staticmethod
    def of(places: Sequence[FilePath]) -> AllPieces:
        """Add up the files of all pieces, in their order."""
        total, files = Sums(), dict[Name, dict[FilePath, int]]()
        for place in places:
            with _opened(place) as content:
                own: dict[Name, Array] = {}
                for number, words in enumerate(json.loads(content["names"].tobytes())):
                    name = tuple(words)
                    if name[0] in JOINED:
                        files.setdefault(name, {})[place] = number
                    else:
                        own[name] = content[f"arr_{number}"]
            total = total + Sums(own)
        return AllPieces(total.arrays, files)

    def __getitem__(self, name: Name) -> Array:
        if name not in self.files:
            return self.added[name]
        parts = []
        for place, number in self.files[name].items():
            with _opened(place) as content:
                parts.append(content[f"arr_{number}"])
        return side_by_side(parts, JOINED[str(name[0])])

    def __iter__(self) -> Iterator[Name]:
        return iter((*self.added, *self.files))

    def __len__(self) -> int:
        return len(self.added) + len(self.files)


@contextmanager
def _opened(place: FilePath) -> Iterator[Mapping[str, Array]]:
    """Open the file of a piece, or say that it is damaged."""
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as content:
            yield content
    except DAMAGE as error:
        advice = "remove it and run again with --resume: it is computed again"
        raise FormatError("a finished piece is damaged", got=repr(error), where=str(place), advice=advice) from error
