"""The seven cases that [stutz] prints: three that the package has, with prediction sets, and four of figure E.18."""

from __future__ import annotations

from dissensus.simulate.printed_cases import CASES as WITH_PREDICTIONS
from dissensus.simulate.printed_cases import N_CONDITIONS, PredictionSet, PrintedCase, PrintedCases, annotations_of

__all__ = ["CASES", "N_CONDITIONS", "PredictionSet", "PrintedCase", "PrintedCases", "printed_cases"]

CASES = (
    *WITH_PREDICTIONS,
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
