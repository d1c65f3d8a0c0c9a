"""Differential diagnoses of skin conditions: the annotations that the source paper evaluates with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from dissensus.certainty.categories import Categories
from dissensus.core.files import read_text
from dissensus.core.receipt import Note
from dissensus.predictions.reader import read_predictions
from dissensus.study.reading import examine
from dissensus.study.study import Study
from paper.data.printed_cases import CASES, PredictionSet
from paper.data.publication import Publication, PublishedFile

if TYPE_CHECKING:
    from dissensus.core.arrays import FloatArray, Path
    from dissensus.predictions.lists import Predictions

COMMIT = "98349d8fefc5b45f0a2fa5f28fed98ded4225368"
RAW = f"https://raw.githubusercontent.com/google-deepmind/uncertain_ground_truth/{COMMIT}/data"
SELECTORS, CONDITIONS, RISKS = "dermatology_selectors.json", "dermatology_conditions.txt", "dermatology_risks.txt"
CHECKSUMS = {
    SELECTORS: "0e267eaa92ec005bdfc19cb7a9d8f3227c2a515d380088003f77db80d4c73050",
    CONDITIONS: "54552e734d025c17de2df2a030583a10f356b8ffc73ad9cbadd2219da31ff035",
    RISKS: "9fa83c4c7311da5bbd91bfa0b552ef47a80bb22daca93ff13aa9e4b681f22b3a",
}
DERMATOLOGY = Publication(
    title="dermatology data",
    name="dermatology",
    folder="dermatology_ddx",
    files=tuple(PublishedFile(name, sha256, f"{RAW}/{name}") for name, sha256 in CHECKSUMS.items()),
    origin="github.com/google-deepmind/uncertain_ground_truth, folder data",
    licence="CC BY 4.0",
)
RISK_NAMES = {"0": "low", "1": "medium", "2": "high"}
MODELS = ("A", "B", "C", "D")
PREDICTION_ENDINGS = (".txt", ".json")


@dataclass(frozen=True, eq=False)
class Dermatology:
    """Hold the dermatology data.

    Attributes
    ----------
    annotations
        Partial rankings of 419 conditions; cases are named by their position, from "0".
    categories
        Risk of each condition: low, medium or high, with the levels 0, 1 and 2.
    predictions
        Scores of the models "A" to "D", as far as their files are there.
    notes
        What deserves a look, for example files with other contents than the published ones.

    Examples
    --------
    >>> from dissensus import Categories, Predictions, Study
    >>> said = Study.from_counts([[1, 0]], ["a", "b"])
    >>> risks = Categories.from_mapping({"a": "low", "b": "high"}, said.conditions)
    >>> Dermatology(said, risks, {"A": Predictions.from_scores([[0.5, 0.5]], ["a", "b"])}).unlike[0]
    'model A has no case 1026'
    """

    annotations: Study
    categories: Categories
    predictions: Mapping[str, Predictions] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def unlike(self) -> tuple[str, ...]:
        """How the models differ from the prediction sets that [stutz] prints for A, B and D; empty if they do not."""
        found = (_unlike(self.predictions.get(each.model), case, each) for case, each in _printed_sets())
        return tuple(words for words in found if words)

    @property
    def has_published_models(self) -> bool:
        """Whether all four models are there and predict what is printed; nothing is printed for C, it is believed."""
        return len(self.predictions) == len(MODELS) and not self.unlike


def load_dermatology(path: Path) -> Dermatology:
    """Load the dermatology data from a directory.

    Parameters
    ----------
    path
        Directory with ``dermatology_selectors.json`` (case > annotator > block > code), ``dermatology_conditions.txt``
        and ``dermatology_risks.txt``; optionally ``dermatology_predictions0`` to ``3``, as ``.txt`` or ``.json``, with
        a row of numbers per case. Whether they are the published ones is told by the sets of three conditions that
        the paper prints: a note says which model has another set at which case.

    Raises
    ------
    DissensusError
        If a file is missing, or does not fit the others: numbers of conditions, risks, cases, unknown codes.
    """
    directory = DERMATOLOGY.located(path)
    names = [line.strip() for line in read_text(directory / CONDITIONS).splitlines() if line.strip()]
    reading = examine(directory / SELECTORS, "nested", conditions=names)
    said = reading.rankings
    categories = Categories.from_file(directory / RISKS, said.conditions)
    known = {code: name for code, name in RISK_NAMES.items() if code in categories.names}
    notes = DERMATOLOGY.notes(directory / file.name for file in DERMATOLOGY.files)
    data = Dermatology(said, categories.renamed(known), _models(directory, said))
    return replace(data, notes=(*reading.receipt.notes, *notes, *_notes_on_models(data)))


def _models(directory: FilePath, said: Study) -> dict[str, Predictions]:
    """Read the models whose files are there; they go by the letters of the paper."""
    found = {}
    for number, name in enumerate(MODELS):
        places = [directory / f"dermatology_predictions{number}{ending}" for ending in PREDICTION_ENDINGS]
        for place in [place for place in places if place.is_file()][:1]:
            found[name] = read_predictions(
                place, conditions=said.conditions, cases=said.case_names, name=name, format="matrix", kind="scores"
            )
    return found


def _printed_sets() -> Iterator[tuple[str, PredictionSet]]:
    return ((case.name, each) for case in CASES for each in case.predictions)


def _unlike(model: Predictions | None, case: str, printed: PredictionSet) -> str:
    """Say how a model differs from a printed set; nothing if it does not, or if there is no such model."""
    if model is None:
        return ""
    if case not in model.case_names:
        return f"model {printed.model} has no case {case}"
    (scores,) = model.select([case]).to_scores()
    if set(printed.conditions) <= set(model.conditions) and _leads(scores, model, printed.conditions):
        return ""
    first = ", ".join(model.conditions[code] for code in np.argsort(-scores, kind="stable")[: len(printed.conditions)])
    return f"model {printed.model} has {{{first}}} at case {case}, not {{{', '.join(printed.conditions)}}}"


def _leads(scores: FloatArray, model: Predictions, printed: tuple[str, ...]) -> bool:
    """Tell whether these conditions are the first ones; only the last of them may be tied with another condition.

    A file that says the same of all conditions must not pass for any set.
    """
    is_printed = np.isin(np.array(model.conditions), printed)
    *before, last = np.sort(scores[is_printed])[::-1]
    others = scores[~is_printed].max(initial=-np.inf)
    return bool(last >= others and min(before, default=np.inf) > others)


def _notes_on_models(data: Dermatology) -> tuple[Note, ...]:
    if not data.unlike:
        return ()
    found = "prediction sets that are not those that the paper prints"
    return (Note(found, len(data.unlike), "the models are not taken for the published ones", data.unlike),)


def fetch_dermatology(directory: Path | None = None) -> FilePath:
    """Download the annotations, names and risks, check them, and return their directory; needs pooch.

    The predictions of the four models are not fetched.
    """
    return DERMATOLOGY.fetch(directory)
