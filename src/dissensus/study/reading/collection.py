"""Rankings, checklists and notes, collected while a file is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dissensus.core.errors import FormatError, listing
from dissensus.core.files import Source
from dissensus.core.notes import Note
from dissensus.core.receipt import Column
from dissensus.study.reading.format import Parsed
from dissensus.study.tables import ROW

MOST_EXAMPLES = 3


class Collection:
    """Collect rankings one at a time, and count whatever deserves a note.

    Examples
    --------
    >>> said = Collection()
    >>> said.add_ranking("c1", "Ann", [["Eczema"], ["Tinea"]])
    >>> said.add_ranking("c1", "Bo", [])
    >>> print(*said.parsed().notes)
    rankings without a condition: 1, kept as abstentions (for example 'c1')
    """

    def __init__(self) -> None:
        self._rows: list[tuple[str, str | None, int | None, str | None, float | None, int | None]] = []
        self._opinions: dict[str, int] = {}
        self._notes: dict[tuple[str, str], Note] = {}
        self._seen: set[tuple[str, str]] = set()
        self._assumed: dict[str, None] = {}

    def assume(self, sentence: str) -> None:
        """Say what the file does not, and is taken for granted; the same sentence counts once.

        >>> said = Collection()
        >>> said.assume("several labels of a document are tied")
        >>> said.parsed().assumed
        ('several labels of a document are tied',)
        """
        self._assumed[sentence] = None

    def skip(self, found: str, example: str = "", *, action: str = "skipped") -> None:
        """Count something that does not become part of the study.

        >>> said = Collection()
        >>> said.skip("drafts", "c1")
        >>> said.parsed().notes[0].lost
        True
        """
        self.note(found, action, example)
        self._notes[found, action] = replace(self._notes[found, action], lost=True)

    def note(self, found: str, action: str, example: str = "", *, count: int = 1) -> None:
        """Count a finding, and keep the first few examples of it.

        >>> said = Collection()
        >>> said.note("empty lines", "kept as abstentions", "line 7", count=2)
        >>> print(*said.parsed().notes)
        empty lines: 2, kept as abstentions (for example 'line 7')
        """
        before = self._notes.get((found, action), Note(found, 0, action))
        is_new = bool(example) and example not in before.examples and len(before.examples) < MOST_EXAMPLES
        examples = (*before.examples, example) if is_new else before.examples
        self._notes[found, action] = replace(before, count=before.count + count, examples=examples)

    def add_case(self, case: str) -> None:
        """Add a case even if nobody gives an opinion on it.

        >>> said = Collection()
        >>> said.add_case("c1")
        >>> said.parsed().frame["case"].to_list()
        ['c1']
        """
        if case not in self._opinions:
            self._opinions[case] = 0
            self._rows.append((case, None, None, None, None, None))

    def add_ranking(self, case: str, annotator: str | None, blocks: Sequence[Sequence[str]], *, votes: int = 1) -> None:
        """Add one ranking, best block first, and how many gave it; without a condition it is an abstention.

        >>> said = Collection()
        >>> said.add_ranking("c1", "Ann", [["Eczema"], ["Tinea", "Wart"]])
        >>> said.parsed().frame["rank"].to_list()
        [1.0, 2.0, 2.0]
        """
        blocks = [block for block in blocks if block]
        if not blocks:
            self.note("rankings without a condition", "kept as abstentions", case, count=votes)
        self._add(case, annotator, blocks, votes, "rankings")

    def add_checklist(self, case: str, annotator: str | None, findings: Sequence[str]) -> None:
        """Add the findings that one annotator saw; without any, nothing was found.

        >>> said = Collection()
        >>> said.add_checklist("c1", "Ann", [])
        >>> print(*said.parsed().notes)
        checklists without a finding: 1, kept as nothing found (for example 'c1')
        """
        if not findings:
            self.note("checklists without a finding", "kept as nothing found", case)
        self._add(case, annotator, [findings] if findings else [], 1, "checklists")

    def _add(
        self, case: str, annotator: str | None, blocks: Sequence[Sequence[str]], votes: int, opinions: str
    ) -> None:
        if annotator is not None and (case, annotator) in self._seen:
            self.note(f"further {opinions} of a case by one annotator", f"kept as {opinions} of their own", case)
        if annotator is not None:
            self._seen.add((case, annotator))
        number = self._opinions[case] = self._opinions.get(case, 0) + 1
        if not blocks:
            self._rows.append((case, annotator, number, None, None, votes))
        for rank, block in enumerate(blocks, start=1):
            self._rows.extend((case, annotator, number, str(name), float(rank), votes) for name in block)

    def parsed(self, conditions: Sequence[str] | None = None, *, columns: Sequence[Column] = ()) -> Parsed:
        """Return what was collected; ``conditions`` are all names in order, where a file gives them.

        ``columns`` are the roles of the keys of the file, for the receipt.

        >>> Collection().parsed(["Eczema", "Tinea"]).conditions
        ('Eczema', 'Tinea')
        """
        import polars as pl

        names = {"case": pl.String, "annotator": pl.String, "annotation": pl.Int64, "condition": pl.String}
        rows = pl.DataFrame(self._rows, schema={**names, "rank": pl.Float64, "votes": pl.Int64}, orient="row")
        rows = rows.with_columns(pl.lit(None, pl.Int64).alias(ROW))  # no row of a file
        rows = rows if (rows["votes"] > 1).any() else rows.drop("votes")
        known = tuple(conditions) if conditions is not None else None
        notes, assumed = tuple(self._notes.values()), tuple(self._assumed)
        return Parsed(rows, notes, known, columns=tuple(columns), assumed=assumed)


def files_ending(endings: Sequence[str], source: Source, said: Collection, expected: str) -> list[Path]:
    """Return the files of a directory that have one of some endings, and count the others; a file stands for itself."""
    if source.kind != "directory":
        return [source.path]
    shown = [path for path in source.content if not path.name.startswith(".")]
    files = [path for path in shown if path.suffix.lower() in endings]
    for path in shown:
        if path not in files:
            said.skip("files with another ending", path.name)
    if not files:
        raise FormatError(
            f"the directory holds no {' or '.join(endings)} files",
            expected=expected,
            got=f"files {listing(path.name for path in shown)}" if shown else "no files",
            where=str(source.path),
        )
    return files
