"""An array of confidences: cases by annotators by conditions."""

from __future__ import annotations

from dissensus.core.files import Source
from dissensus.study.ranking_arrays import annotations_from_confidences, stacked
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.ranking_arrays import array_named, names_of, parsed_rows

KEYS = ("opinions", "confidences")
"""Names of the array in an npz file; only one of them may be there."""


class Confidences(Format):
    """A confidence per condition, annotator and case: larger is better, equal is a tie, 0 is not ranked."""

    id = "confidences"
    title = "array (.npy, or opinions in .npz) of cases by annotators by conditions: larger is better, 0 is unranked"

    def recognises(self, source: Source) -> bool:
        """Tell whole numbers in an npy file with three axes, or an npz file with an array of such a name."""
        if source.kind == "npy":
            return bool(source.content.ndim == 3 and source.content.dtype.kind in "iu")
        return source.kind == "npz" and sum(key in source.content for key in KEYS) == 1

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read the rankings of annotators without a name; rows that rank nothing are nobody's."""
        key = next((key for key in KEYS if source.kind == "npz" and key in source.content), KEYS[0])
        array = source.content if source.kind == "npy" else array_named(source, key)
        rows = stacked("confidences", array, "iuf")
        conditions, cases, assumed = names_of(source, options, rows)
        said = annotations_from_confidences(array, conditions=conditions, case_names=cases, unranked="below")
        order = "confidences order the conditions; their values are not used"
        return parsed_rows(source, said, rows, {key: "confidence of each condition"}, (*assumed, order))
