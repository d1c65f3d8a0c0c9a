"""Wikipedia toxicity: how toxic about ten people found each comment, from -2 (very toxic) to 2 (very healthy)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from dissensus.core.errors import DissensusError, listing
from dissensus.core.files import open_source
from dissensus.study.study import Study
from paper.data.publication import Publication, PublishedFile

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import Path
    from dissensus.core.receipt import Note

WIKIPEDIA_TOXICITY = Publication(
    title="Wikipedia toxicity annotations",
    name="wikipedia_toxicity",
    folder="wikipedia_toxicity",
    files=(PublishedFile("toxicity_annotations.tsv"),),
    origin="figshare, 'Wikipedia Talk Labels: Toxicity' (described at meta.wikimedia.org/wiki/Research:Detox)",
    licence="CC0",
)
COLUMNS = ("rev_id", "worker_id", "toxicity_score")
LOWEST, HIGHEST = -2.0, 2.0


@dataclass(frozen=True, eq=False)
class WikipediaToxicity:
    """Hold the ratings of each comment, by its revision, and what deserves a look."""

    ratings: Study
    notes: tuple[Note, ...] = ()


def load_wikipedia_toxicity(path: Path, *, most: int | None = None) -> WikipediaToxicity:
    """Load the Wikipedia toxicity annotations.

    Parameters
    ----------
    path
        The tab-separated file with the columns ``rev_id``, ``worker_id``, ``toxicity`` and ``toxicity_score``, or a
        directory that holds ``toxicity_annotations.tsv``.
    most
        Keep the first comments only, at most so many, all their ratings.
    """
    place = WIKIPEDIA_TOXICITY.single(path)
    try:
        rows = _first(_checked(place), most)
        ratings = Study.from_long(rows, case="rev_id", annotator="worker_id", score="toxicity_score")
        _check_scores(ratings)
    except DissensusError as error:
        raise error if str(place) in error.where else error.at(str(place)) from None
    return WikipediaToxicity(ratings, WIKIPEDIA_TOXICITY.notes([place]))


def _checked(place: FilePath) -> pl.DataFrame:
    """Read the table; revisions are published as numbers with a fraction of zero."""
    import polars as pl

    source = open_source(place)
    table = (source if source.is_table else source.as_table("\t")).table
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise DissensusError(
            "this is not the table of toxicity annotations",
            expected=f"the columns {listing(COLUMNS)}",
            got=f"no {listing(missing)}",
            where=str(place),
            advice=WIKIPEDIA_TOXICITY.advice,
        )
    names = pl.col("rev_id", "worker_id").cast(pl.String).str.strip_suffix(".0")
    return table.select(COLUMNS).with_columns(names)


def _first(table: pl.DataFrame, most: int | None) -> pl.DataFrame:
    if most is None:
        return table
    chosen = table["rev_id"].drop_nulls().unique(maintain_order=True).head(most)
    return table.filter(table["rev_id"].is_in(chosen.implode()))


def _check_scores(ratings: Study) -> None:
    scores = ratings.scores
    if len(scores) and not LOWEST <= scores.min() <= scores.max() <= HIGHEST:
        raise DissensusError(
            "a toxicity score is out of range",
            expected=f"{LOWEST:g} to {HIGHEST:g}",
            got=f"{scores.min():g} to {scores.max():g}",
        )


def fetch_wikipedia_toxicity(directory: Path | None = None) -> FilePath:
    """Say where the annotations are; no checksum of them is known here, so they are not fetched.

    Raises
    ------
    DissensusError
        Always, with the place to get them from.
    """
    return WIKIPEDIA_TOXICITY.fetch(directory)
