"""What people see of a result, in one form: text for a terminal, a page for a notebook, rows for a pipe, and JSON.

Numbers are written here as sentences write them: counts, shares, probabilities and differences.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    import polars as pl

# So wide is text unless somebody says otherwise, and so wide it is at the most.
WIDTH, WIDEST = 80, 120

# So many lines has a screen, and what a session shows of a result.
MOST_LINES, MOST_OF_REPR = 24, 20

# The first cautions of so few lines are shown whatever else there is: the table gives way, down to so many lines.
FIRST, SHORT, LEAST_ROWS = 2, 2, 7

# Names in the first column may be so long before columns are left out.
LONGEST = 20

MINUS = "\N{MINUS SIGN}"

# Stands where there is no number.
NOTHING = "\N{EN DASH}"

# Probabilities nearer to 0 than this are not told apart from it.
LEAST = 0.001

# Kinds of characters that a terminal obeys or hides: control, format, halves of pairs, separators of lines.
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def visible(text: str) -> str:
    r"""Write control characters, directions of writing and zero-width characters as escapes, for a terminal.

    >>> print(visible("\x1b[31mEczema\n\u202e"))
    \x1b[31mEczema\n\u202e
    """
    if text.isprintable():
        return text
    hides = {sign for sign in text if unicodedata.category(sign) in HIDDEN}
    return "".join(sign.encode("unicode_escape").decode("ascii") if sign in hides else sign for sign in text)


@dataclass(frozen=True)
class Screen:
    """Hold what is seen first of a result.

    Attributes
    ----------
    title, heading
        What it is about, and what the table shows.
    table
        Columns of text by their headings, the most important first; the first one names the rows.
    n_names
        So many of the first columns hold names, which are cut where the terminal is narrow.
    decisions
        What follows from it, in sentences.
    cautions
        What to know before use, in sentences, the most important first.
    place
        Where everything is.
    more
        Where the cautions are that have no room.
    is_whole
        Whether all of it is wanted, however long it is.
    records
        The rows of the table with all their digits, for other programs.
    document
        What JSON says; by default all of the above.

    Examples
    --------
    >>> found = Screen("2 cases", "", {"": ["A", "B"], "value": ["0.5", "0.7"]}, ("B leads.",), ("few cases",))
    >>> print(found)
    2 cases
       value
    A  0.5
    B  0.7
    B leads.
    ! few cases
    """

    title: str = ""
    heading: str = ""
    table: Mapping[str, Sequence[str]] = field(default_factory=dict)
    decisions: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    place: str = ""
    n_names: int = 1
    more: str = "see the report"
    is_whole: bool = False
    records: Sequence[Mapping[str, Any]] = ()
    document: Mapping[str, Any] | None = None

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table, its headings first; none if there is no table."""
        return [tuple(self.table), *zip(*self.table.values(), strict=True)] if self.table else []

    @property
    def sentences(self) -> list[str]:
        """The decisions, and what to know before use, marked as such."""
        return [*self.decisions, *(f"! {one}" for one in self.cautions)]

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = WIDTH, lines: int | None = MOST_LINES) -> str:
        """Write it for a terminal: wrapped at words, in so many lines; what has no room is counted.

        Columns that are too many for the width are left out from the right.

        >>> print(Screen("", "", {"": ["A"], "value": ["0.5"], "interval": ["0.4 to 0.6"]}).text(14))
           value
        A  0.5
        (too narrow for: interval)
        """
        table, left_out = fitted(self.rows if any(map(str.strip, self.table)) else self.rows[1:], width, self.n_names)
        head = [visible(one) for one in (self.title, self.heading) if one]
        told = [[*wrapped(one, width)] for one in self.decisions]
        told += [[f"(too narrow for: {', '.join(left_out)})"]] if left_out else []
        warned = [wrapped(f"! {one}", width) for one in self.cautions]
        end = [visible(one) for one in self.place.split("\n")] if self.place else []
        if lines is not None and not self.is_whole:
            fixed = sum(map(len, told)) + len(end) + sum(len(wrapped(one, width)) for one in head)
            room, most = (lines - fixed - n for n in (len(table), min(len(table), LEAST_ROWS)))
            kept = list(warned)
            while kept and sum(map(len, kept)) + (len(kept) < len(warned)) > (
                most if len(kept) <= FIRST and len(kept[-1]) <= SHORT else room
            ):
                kept.pop()
            more = len(warned) - len(kept)
            warned = [*kept, [f"! {more} more warning{'s' * (more > 1)}: {self.more}"]] if more else kept
            most = lines - fixed - sum(map(len, warned))
            if len(table) > max(most, 3):
                table = [*table[: most - 1], f"... and {len(table) - most + 1} more"]
        body = [line for one in (*told, *warned) for line in one]
        return "\n".join([*(line for one in head for line in wrapped(one, width)), *table, *body, *end])

    def html(self) -> Markup:
        """Write it for a notebook: names are escaped, and colours are those of the page."""
        kinds = ["th", *["td"] * (len(self.rows) - 1)]
        line = Markup("").join
        rows = [
            Markup("<tr>{}</tr>").format(line(Markup("<{0}>{1}</{0}>").format(kind, cell) for cell in row))
            for kind, row in zip(kinds, self.rows, strict=False)
        ]
        table = Markup("<table><caption>{}</caption>{}</table>").format(self.heading, line(rows)) if rows else ""
        told = line(Markup("<p>{}</p>").format(one) for one in self.sentences)
        return Markup("<p>{}</p>{}{}").format(self.title, table, told)

    def tabbed(self) -> str:
        r"""Write the rows for a pipe, separated by tabs; what they hold breaks no line.

        >>> Screen("", records=[{"model": "A\tB", "value": 0.5}]).tabbed()
        'model\tvalue\nA\\tB\t0.5'
        """
        if not self.records:
            return "\n".join(map(visible, [one for one in (self.title, *self.decisions, self.place) if one]))
        names = list(self.records[0])
        rows: list[list[Any]] = [names, *([row.get(name) for name in names] for row in self.records)]
        return "\n".join("\t".join(visible("" if cell is None else str(cell)) for cell in row) for row in rows)

    def json(self) -> str:
        """Write all of it for other programs; numbers that are not finite are missing."""
        own = {"title": self.title, "rows": list(self.records), "decisions": self.decisions, "cautions": self.cautions}
        own |= {"place": self.place.partition(": ")[2] or self.place} if self.place else {}
        return json.dumps(plain_json(self.document or own), indent=2)


class Shown:
    """Show results by their screen, in a session and in a notebook."""

    def screen(self) -> Screen:
        """Return what is seen first of it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.screen().text(lines=MOST_OF_REPR)

    def _repr_html_(self) -> str:
        return str(self.screen().html())


class Rows(Shown):
    """A result with rows, and sentences about them; subclasses are frozen dataclasses with a field ``rows``.

    Where there is a field ``notes``, it holds what has to be known to read the rows.
    """

    rows: tuple[dict[str, Any], ...]

    def words(self) -> list[str]:
        """Say what it is about, and what came out, a sentence each."""
        raise NotImplementedError

    def summary(self) -> pl.DataFrame:
        """Return the rows that matter first."""
        return self.to_frame()

    def to_frame(self) -> pl.DataFrame:
        """Return all rows as a frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows), infer_schema_length=None)

    def screen(self) -> Screen:
        """Return what is seen first of it."""
        title, *told = self.words()
        shown = self.summary()
        table = {name: [_cell(value) for value in shown[name].to_list()] for name in shown.columns}
        notes: tuple[str, ...] = getattr(self, "notes", ())
        return Screen(title, "", table, tuple(told), notes, records=self.to_frame().to_dicts())


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def repr_html(shown: object) -> str:
    """Write for a notebook what a session shows of something; ``_repr_html_`` of what has no screen.

    >>> print(repr_html(["<b>"]))
    <pre>[&#39;&lt;b&gt;&#39;]</pre>
    """
    return str(Markup("<pre>{}</pre>").format(repr(shown)))


def plain_json(value: Any) -> Any:
    """Replace what JSON cannot hold: a number that is not finite is missing.

    >>> plain_json({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def wrapped(text: str, width: int) -> list[str]:
    """Break a sentence between words; what follows the first line is set in."""
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return wrap(visible(text), min(width, WIDEST), subsequent_indent="  ", **how)


def fitted(rows: Sequence[Sequence[str]], width: int, n_names: int = 1) -> tuple[list[str], list[str]]:
    """Lay out rows in columns, and name the columns that the width has no room for.

    Names, which the first columns hold, are cut before a column is left out.

    >>> fitted([["", "a", "b"], ["model", "1", "22"]], 10)
    (['       a', 'model  1'], ['b'])
    """
    if not rows:
        return [], []
    cells = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]

    def over() -> int:
        return sum(widths) + 2 * (len(widths) - 1) - width

    for place in sorted(range(n_names), key=lambda one: -widths[one]):
        widths[place] -= max(0, min(over(), widths[place] - LONGEST))
    left_out: list[str] = []
    while len(widths) > max(2, n_names) and over() > 0:
        widths.pop()
        left_out.insert(0, cells[0][len(widths)])
    columns = [
        [cut(cell, size) for cell in column] for column, size in zip(zip(*cells, strict=True), widths, strict=False)
    ]
    for place, own in enumerate(columns[:n_names]):  # names that are cut must not become the same
        if len({*own}) < len({row[place] for row in cells}):
            columns[place] = [cut(row[place], widths[place], tail=widths[place] // 2) for row in cells]
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)], left_out


def cut(text: str, width: int, tail: int = 0) -> str:
    """Cut text to a width, before a tail of it, or fill it up.

    >>> cut("a long name", 6), cut("a long name", 6, tail=2), cut("short", 6)
    ('a lon…', 'a l…me', 'short ')
    """
    return text.ljust(width) if len(text) <= width else f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


# Numbers in sentences ------------------------------------------------------------------------------------


def counted(count: float, noun: str, plural: str | None = None) -> str:
    """Count a noun, with separators.

    >>> counted(1, "case"), counted(1200, "case"), counted(2, "category", "categories")
    ('1 case', '1,200 cases', '2 categories')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    r"""Write the share of things that can be counted, without claiming all or nothing where that is not so.

    The space before the sign does not break.

    >>> percent(0.591), percent(0.9999), percent(1.0), percent(0.002)
    ('59\xa0%', 'over 99\xa0%', '100\xa0%', 'under 1\xa0%')
    """
    if 0 < share < 0.005:
        return "under 1\xa0%"
    if 0.995 <= share < 1:
        return "over 99\xa0%"
    return f"{100 * share:.0f}\xa0%"


def small_probability(value: float) -> str:
    """Write a p-value.

    >>> small_probability(0.0312), small_probability(0.0002), small_probability(1.0)
    ('0.031', '< 0.001', '1.000')
    """
    return f"< {LEAST:g}" if value < LEAST else number(value)


def p_values(alone: float, adjusted: float) -> str:
    """Write a p-value, and beside it the one that Holm's adjustment makes of it, where that is another.

    >>> p_values(0.0031, 0.0482), p_values(0.0002, math.nan), p_values(0.0002, 0.0004)
    ('p = 0.003 (Holm-adjusted 0.048)', 'p < 0.001', 'p < 0.001')
    """
    plain, many = small_probability(alone), small_probability(adjusted)
    told = f"p {'' if plain.startswith('<') else '= '}{plain}"
    return told if many in (plain, NOTHING) else f"{told} (Holm-adjusted {many})"


def number(value: float | None, digits: int = 3) -> str:
    """Write a number, or a dash where there is none; one more digit where rounding would make it 1 or -1.

    >>> number(0.5), number(0.998, 2), number(1.0, 2), number(None) == NOTHING
    ('0.500', '0.998', '1.00', True)
    """
    if value is None or math.isnan(value):
        return NOTHING
    nearly = abs(value) < 1 <= round(abs(value), digits)
    return f"{value:.{digits + nearly}f}".replace("-", MINUS)


def interval(
    row: Mapping[str, Any] | None, name: str = "mean", low: str = "low", high: str = "high", *, undefined: str = NOTHING
) -> str:
    """Write a value with its interval, or a dash where there is none; undefined values may be called so.

    >>> interval({"mean": 0.5, "low": 0.25, "high": 0.75}), interval(None) == NOTHING
    ('0.50 [0.25, 0.75]', True)
    """
    if row is None or row[name] is None or math.isnan(row[name]):
        return NOTHING if row is None else undefined
    return f"{number(row[name], 2)} [{number(row[low], 2)}, {number(row[high], 2)}]"
