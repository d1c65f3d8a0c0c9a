"""The seven cases that [stutz] prints: three with prediction sets and their values, and four of figure E.18.

The first is in the introduction and the results, the others in the appendix "Additional results". They are named by
their position in the released annotations, from 0. Conditions are spelt as in the release, whose capitals the print
does not always keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

# Conditions of the study that the cases come from; those that are not printed here have no names.
N_CONDITIONS = 419

Rankings = tuple[tuple[tuple[str, ...], ...], ...]


class PredictionSet(NamedTuple):
    """What one model predicts for a case, and how often the most plausible condition is said to be in it.

    Attributes
    ----------
    model
        The model's letter.
    conditions
        Its top 3.
    plackett_luce, inverse_rank
        The printed values for Plackett-Luce and for probabilistic inverse ranks, at medium reliability.
    """

    model: str
    conditions: tuple[str, ...]
    plackett_luce: float
    inverse_rank: float


@dataclass(frozen=True)
class PrintedCase:
    """A case as it is printed.

    Attributes
    ----------
    name
        Its position in the released annotations.
    rankings
        What each annotator said, as far as it is printed: blocks of tied conditions, best first.
    predictions
        The prediction sets of two models; none are printed for the cases of figure E.18.
    figure
        The figure of the paper that shows its plausibilities.
    omitted
        Position of an annotator whom the release has and the print passes over, from 0.
    """

    name: str
    rankings: Rankings
    predictions: tuple[PredictionSet, ...] = ()
    figure: str = "E.18"
    omitted: int | None = None

    @property
    def named(self) -> set[str]:
        """The conditions that annotators or models name."""
        mentioned = {name for ranking in self.rankings for block in ranking for name in block}
        return mentioned.union(*(prediction.conditions for prediction in self.predictions))

    @property
    def annotations(self) -> Study:
        """The case as a study of its own, among as many conditions as the release has."""
        return annotations_of((self,))


@dataclass(frozen=True)
class PrintedCases:
    """The printed cases together.

    Attributes
    ----------
    cases
        The cases, with the prediction sets and values that are printed.
    annotations
        What the annotators said, among as many conditions as the study has.
    """

    cases: tuple[PrintedCase, ...]
    annotations: Study

    def predictions(self, number: int) -> Predictions:
        """Return the first (0) or second (1) set of every case that has some; their models differ from case to case."""
        predicted = [case for case in self.cases if case.predictions]
        sets = [case.predictions[number].conditions for case in predicted]
        names = [case.name for case in predicted]
        return Predictions.from_sets(sets, self.annotations.conditions, case_names=names, name=f"set {number + 1}")


CASES = (
    PrintedCase(
        "1026",
        (
            (("Pyogenic granuloma",), ("Hemangioma",), ("Melanoma",)),
            (("Angiokeratoma of skin",), ("Atypical Nevus",)),
            (("Hemangioma",), ("Melanocytic Nevus", "Melanoma", "O/E - ecchymoses present")),
            (("Hemangioma", "Melanoma", "Skin Tag"),),
            (("Melanoma",),),
            (("Hemangioma",), ("Melanoma",), ("Melanocytic Nevus",)),
        ),
        (
            PredictionSet("A", ("Atypical Nevus", "Hemangioma", "Melanocytic Nevus"), 0.70, 0.52),
            PredictionSet("B", ("Hemangioma", "Melanocytic Nevus", "Melanoma"), 1.00, 0.99),
        ),
        figure="5",
    ),
    PrintedCase(
        "1057",
        (
            (("Pyoderma Gangrenosum", "Venous Stasis Ulcer"),),
            (("Arterial ulcer", "Calciphylaxis cutis"),),
            (("Cellulitis",),),
        ),
        (
            PredictionSet("A", ("Diabetic ulcer", "Pyoderma Gangrenosum", "Venous Stasis Ulcer"), 0.39, 0.41),
            PredictionSet("D", ("Arterial ulcer", "Cellulitis", "Pyoderma Gangrenosum"), 0.58, 0.61),
        ),
        figure="E.17",
    ),
    PrintedCase(
        "357",
        (
            (("Dissecting cellulitis of scalp", "Tinea"), ("Seborrheic Dermatitis",)),
            (("Acne keloidalis", "Folliculitis decalvans"),),
            (("Folliculitis",),),
        ),
        (
            PredictionSet("A", ("Acne", "Folliculitis", "Folliculitis decalvans"), 0.27, 0.40),
            PredictionSet("B", ("Acne keloidalis", "Folliculitis", "Folliculitis decalvans"), 0.42, 0.62),
        ),
        figure="E.17",
    ),
    PrintedCase(
        "170",
        (
            (("SK/ISK",),),
            (("Actinic Keratosis",),),
            (("SK/ISK",),),
            (("Verruca vulgaris",),),
            (("Lentigo",),),
            (("Lentigo",),),
        ),
    ),
    PrintedCase(
        "153",
        (
            (("Cylindroma of skin", "SK/ISK"), ("Cyst",)),
            (("Nevus sebaceous",),),
            (("Basal Cell Carcinoma",),),
            (("Nevus sebaceous",),),
        ),
        omitted=1,
    ),
    PrintedCase(
        "147", ((("Sweet syndrome",),), (("Drug Rash", "Eczema"),), (("Actinic Keratosis",), ("Cutaneous lupus",)))
    ),
    PrintedCase(
        "108",
        (
            (("Psoriasis",), ("Drug Rash",)),
            (("Drug Rash", "Eczema"), ("Psoriasis",)),
            (("Psoriasis",), ("Cutaneous T Cell Lymphoma", "Eczema")),
            (("Drug Rash", "Eczema"), ("Cutaneous T Cell Lymphoma",)),
        ),
    ),
)
"""In case 153 the print goes from annotator A0 to A2; in the release A1 said Melanocytic Nevus, then Melanoma."""


def printed_cases() -> PrintedCases:
    """Return the seven cases that [stutz] prints, as annotations, with the prediction sets and values of three of them.

    Examples
    --------
    >>> printed = printed_cases()
    >>> printed.annotations.rankings_per_case.tolist(), printed.annotations.n_conditions
    ([6, 3, 3, 6, 4, 3, 4], 419)
    >>> printed.cases[0].predictions[1].plackett_luce
    1.0
    >>> printed.predictions(0).case_names
    ('1026', '1057', '357')
    """
    return PrintedCases(CASES, annotations_of(CASES))


def annotations_of(cases: tuple[PrintedCase, ...]) -> Study:
    """Put cases together, among as many conditions as the release has."""
    named = sorted(set().union(*(case.named for case in cases)))
    others = [f"condition {number}" for number in range(N_CONDITIONS - len(named))]
    return Study.from_rankings(
        [case.rankings for case in cases], [*named, *others], case_names=[case.name for case in cases]
    )
