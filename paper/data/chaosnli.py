"""ChaosNLI: a hundred people's labels for each of 1514 pairs of sentences, and what five networks say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import open_source
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import read_predictions
from dissensus.study.study import Study
from paper.data.publication import Publication, PublishedFile

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import Path
    from dissensus.core.receipt import Note

COUNTS = "counts.csv"
CHAOSNLI = Publication(
    title="ChaosNLI data",
    name="chaosnli",
    folder="chaosnli_snli",
    files=(PublishedFile(COUNTS, "ef763131bd23cbfe0d744b99739c00a7263c2264687915849314e3c874e18ea4"),),
    origin="github.com/easonnie/ChaosNLI, the part SNLI: the votes of each pair put into one table (case, entailment, "
    "neutral, contradiction), the probabilities of each network into another",
    licence="CC BY-NC 4.0",
)
LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, eq=False)
class ChaosNLI:
    """Hold the SNLI part of ChaosNLI.

    Attributes
    ----------
    annotations
        One anonymous single label per vote, about a hundred for each pair of sentences.
    predictions
        Probabilities of networks, one per file ``pred_NAME.csv``.
    notes
        What deserves a look.
    """

    annotations: Study
    predictions: Mapping[str, Predictions] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def load_chaosnli(path: Path) -> ChaosNLI:
    """Load the SNLI part of ChaosNLI from a directory.

    Parameters
    ----------
    path
        Directory with ``counts.csv``, a row of votes per pair in the columns ``case``, ``entailment``, ``neutral`` and
        ``contradiction``; optionally probabilities of networks in the same columns, as ``pred_NAME.csv``.
    """
    directory = CHAOSNLI.located(path)
    table = _checked(directory / COUNTS)
    try:
        said = Study.from_counts(table.select(LABELS).to_numpy(), LABELS, case_names=table["case"].to_list())
    except DissensusError as error:
        raise error.at(str(directory / COUNTS)) from None
    models = {place.stem.removeprefix("pred_"): place for place in sorted(directory.glob("pred_*.csv"))}
    predictions = {
        name: read_predictions(place, conditions=LABELS, cases=said.case_names, name=name, kind="scores")
        for name, place in models.items()
    }
    return ChaosNLI(said, predictions, CHAOSNLI.notes([directory / COUNTS]))


def _checked(place: FilePath) -> pl.DataFrame:
    """Read the table of votes, whole numbers only."""
    import polars as pl

    source = open_source(place)
    missing = [name for name in ("case", *LABELS) if not source.is_table or name not in source.table.columns]
    if missing:
        raise FormatError(
            "these are not the votes of ChaosNLI",
            expected=f"the columns {listing(('case', *LABELS))}",
            got=f"no {listing(missing)}",
            where=str(place),
            advice=CHAOSNLI.advice,
        )
    votes = source.table.select(pl.col("case").cast(pl.String), pl.col(*LABELS).cast(pl.Int64, strict=False))
    unread = votes.with_row_index("line", 2).filter(pl.any_horizontal(pl.col(*LABELS).is_null()))
    if len(unread):
        raise FormatError("votes are not whole numbers", where=f"{place}, line {unread['line'][0]}")
    return votes


def fetch_chaosnli(directory: Path | None = None) -> FilePath:
    """Say where ChaosNLI is; it is published in another form, and cannot be fetched as tables.

    Raises
    ------
    DissensusError
        Always, with the place to get it from.
    """
    return CHAOSNLI.fetch(directory)
