"""All formats, in the order in which they are listed."""

from __future__ import annotations

from dissensus.study.reading import (
    argilla,
    counts,
    doccano,
    hugging_face,
    label_studio,
    nested,
    preflib,
    prodigy,
    tabular,
)

FORMATS = (
    *tabular.FORMATS,
    *label_studio.FORMATS,
    *hugging_face.FORMATS,
    *argilla.FORMATS,
    *preflib.FORMATS,
    *prodigy.FORMATS,
    *doccano.FORMATS,
    *nested.FORMATS,
    *counts.FORMATS,
)
