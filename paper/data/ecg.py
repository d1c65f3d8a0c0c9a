"""Electrocardiograms: six abnormalities on 827 tracings, by five annotators, with three networks and a standard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.errors import DissensusError, listing
from dissensus.core.files import open_source
from dissensus.core.receipt import Note
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import read_predictions
from dissensus.study.reading import read
from dissensus.study.study import Study
from dissensus.study.tables import labels_of_cases
from paper.data.publication import Publication, PublishedFile

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import Path

FINDINGS = ("1dAVb", "RBBB", "LBBB", "SB", "AF", "ST")
NOTHING = "none of the six"
MODELS = ("model", "model_1", "model_5")
ECG = Publication(
    title="ECG data",
    name="ecg",
    folder="ecg",
    files=(
        PublishedFile("opinions_ties.csv", "44cd1abe9fd4f8b451ed42193f34cbe92c78ac22d3877443f6ef66cbc1446ab7"),
        PublishedFile("gold.csv", "85a49a2bc00cb90276d14e8e4f7e418b243aaf320585b67c3974bd2a00842149"),
        PublishedFile("attributes.csv", "c191e8d5b1941329b2d958ba990d6b37f94fb62d9456097f90fd5d2e856ad64a"),
        PublishedFile("pred_model.csv", "e71c3ec648fe557b1921ef5987a10db474caa45136e0043dc7cd143f7b353a28"),
        PublishedFile("pred_model_1.csv", "d26ab7e1dd8df82a33e663c79d4c15896de2e090899d3e6f215c5b921035cfbf"),
        PublishedFile("pred_model_5.csv", "69cab50d2c423089f37e3d857b7ee86c64e7a9159ab166fd4d4fd9501d21d7ff"),
    ),
    origin="github.com/antonior92/automatic-ecg-diagnosis: the tables of the annotators put into one "
    "(case, annotator, condition), those of the gold standard, the networks and the patients with a column case",
    licence="MIT",
)
AGES = ("under 40", "40 to 64", "65 and over")
LIMITS = (40, 65)


@dataclass(frozen=True, eq=False)
class Ecg:
    """Hold the ECG data.

    Attributes
    ----------
    checklists
        Which of six abnormalities two cardiologists, two groups of residents and students saw on every tracing.
    predictions
        Three networks by name: the probability of every abnormality.
    gold
        The adjudicated standard: a column ``case``, and 0 or 1 per abnormality.
    strata
        Age group and sex of each case, for evaluation.
    notes
        Files that are not the published ones.
    """

    checklists: Study
    predictions: Mapping[str, Predictions]
    gold: pl.DataFrame
    strata: Mapping[str, tuple[str, ...]]
    notes: tuple[Note, ...] = ()


def load_ecg(path: Path) -> Ecg:
    """Load the ECG data from a directory with its six tables."""
    folder = ECG.located(path)
    said = read(folder / "opinions_ties.csv", "checklist", conditions=FINDINGS, nothing=NOTHING)
    models = {name: _network(folder / f"pred_{name}.csv", name, said.case_names) for name in MODELS}
    gold = _table(folder / "gold.csv", ("case", *FINDINGS))
    gold = gold.with_columns(gold[name].cast(int) for name in FINDINGS)
    strata = _strata(_table(folder / "attributes.csv", ("case", "age", "sex")), said.case_names)
    return Ecg(said, models, gold, strata, ECG.notes(folder / file.name for file in ECG.files))


def _network(place: FilePath, name: str, cases: tuple[str, ...]) -> Predictions:
    return read_predictions(place, conditions=FINDINGS, cases=cases, name=name, findings=True)


def _table(place: FilePath, columns: tuple[str, ...]) -> pl.DataFrame:
    source = open_source(place)
    missing = [name for name in columns if not source.is_table or name not in source.table.columns]
    if missing:
        raise DissensusError(
            "this is not a table of the ECG data",
            expected=f"the columns {listing(columns, most=9)}",
            got=f"no {listing(missing)}",
            where=str(place),
            advice=ECG.advice,
        )
    return source.table.select(columns)


def _strata(table: pl.DataFrame, cases: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    import polars as pl

    ages = table["age"].cast(pl.Float64)
    groups = [AGES[np.searchsorted(LIMITS, age, side="right")] if age is not None else "not known" for age in ages]
    return labels_of_cases(table.with_columns(pl.Series("age", groups)), cases)


def fetch_ecg(directory: Path | None = None) -> FilePath:
    """Say where the ECG data is; it is published as tables of another form, and cannot be fetched as these.

    Raises
    ------
    DissensusError
        Always, with the place to get it from.
    """
    return ECG.fetch(directory)
