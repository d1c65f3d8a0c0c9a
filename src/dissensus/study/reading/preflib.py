"""PrefLib's files of orders (.soc, .soi, .toc, .toi), one per case, with counted anonymous voters."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TypeAlias

from dissensus.core.errors import FormatError, listing
from dissensus.core.files import Source, checked_path, read_text
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.records import Collection, files_ending

KINDS = ("soc", "soi", "toc", "toi")
ENDINGS = tuple(f".{kind}" for kind in KINDS)
TYPE, ALTERNATIVES = "DATA TYPE", "NUMBER ALTERNATIVES"
VOTERS, ORDERS = "NUMBER VOTERS", "NUMBER UNIQUE ORDERS"

NAME = re.compile(r"ALTERNATIVE NAME (\d{1,9})")

Blocks: TypeAlias = list[list[int]]


class PrefLib(Format):
    """PrefLib's .soc, .soi, .toc, .toi files, or a directory of them."""

    id = "preflib"
    title = "PrefLib's .soc, .soi, .toc, .toi files, or a directory of them"

    def recognises(self, source: Source) -> bool:
        """Tell a file by its ending or its header, and a directory by such endings."""
        if source.kind == "directory":
            return any(path.suffix.lower() in ENDINGS for path in source.content)
        if source.kind != "text":
            return False
        return source.path.suffix.lower() in ENDINGS or f"# {TYPE}:" in source.content[:10_000]

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read one case per file, named by the file; every order has as many votes as voters gave it."""
        said = Collection()
        said.assume("every file is a case, named after it")
        said.assume("every voter is an annotator without a name")
        conditions: tuple[str, ...] | None = None
        for path in files_ending(ENDINGS, source, said, f"files ending in {', '.join(ENDINGS)}"):
            text = read_text(checked_path(path)) if source.kind == "directory" else source.text
            names, orders = _profile(text, path, said)
            differing = sorted(set(names) ^ set(conditions or names))
            if differing:
                raise FormatError(
                    "the files of the directory have different alternatives",
                    expected=f"the same {len(conditions or ())} alternatives in every file",
                    got=f"{listing(differing)} in some files only",
                    where=str(path),
                    advice="read the files one by one",
                )
            conditions = conditions or names
            said.add_case(path.stem)
            for count, blocks in orders:
                named = [[names[number - 1] for number in block] for block in blocks]
                if count:
                    said.add_ranking(path.stem, None, named, votes=count)
        return said.parsed(conditions)


# One file ---------------------------------------------------------------------------------------------


def _profile(text: str, path: Path, said: Collection) -> tuple[tuple[str, ...], list[tuple[int, Blocks]]]:
    """Return the names of the alternatives of a file, and how many voters gave each order."""
    header, lines = _split(text, path)
    kind, ending, names = header[TYPE].lower(), path.suffix.lower(), _names(header, path)
    if kind not in KINDS or (ending in ENDINGS and ending != f".{kind}"):
        expected = ending[1:] if ending in ENDINGS else f"one of {', '.join(KINDS)}"
        where = f"{path}, {TYPE}"
        raise FormatError("the data type does not fit", expected=expected, got=repr(header[TYPE]), where=where)
    orders = [_order(line, kind, len(names), f"{path}, line {number}") for number, line in lines]
    empty = sum(count for count, blocks in orders for block in blocks if not block)
    if empty:
        said.note("empty braces in orders", "read as nothing", path.name, count=empty)
    for key, found in ((VOTERS, sum(count for count, _ in orders)), (ORDERS, len(orders))):
        if key in header and _number(header, key, path) != found:
            raise FormatError(
                f"{key} does not fit the orders",
                expected=f"{header[key]}, as the header says",
                got=str(found),
                where=str(path),
                advice="the file may be cut off; download it again",
            )
    return names, [(count, [block for block in blocks if block]) for count, blocks in orders]


def _split(text: str, path: Path) -> tuple[dict[str, str], list[tuple[int, str]]]:
    header: dict[str, str] = {}
    lines = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            header[key.strip().upper()] = value.strip()
        elif line.strip():
            lines.append((number, line))
    if TYPE not in header or ALTERNATIVES not in header:
        raise FormatError(
            "the file has no PrefLib header",
            expected=f"lines such as '# {TYPE}: toi' and '# {ALTERNATIVES}: 3'",
            got=repr(text.lstrip()[:40]),
            where=f"{path}, line 1",
            advice="download the file again; PrefLib's format of before 2022 is not read",
        )
    return header, lines


def _number(header: dict[str, str], key: str, path: Path) -> int:
    value = header[key]
    if not re.fullmatch(r"[0-9]{1,12}", value):
        raise FormatError(f"{key} is not a number", expected="a whole number", got=repr(value), where=f"{path}, {key}")
    return int(value)


def _names(header: dict[str, str], path: Path) -> tuple[str, ...]:
    found = {int(match[1]): value for key, value in header.items() if (match := NAME.fullmatch(key))}
    names = tuple(found[number] for number in sorted(found))
    n_alternatives = _number(header, ALTERNATIVES, path)
    if sorted(found) != list(range(1, len(found) + 1)) or len(found) != n_alternatives:
        raise FormatError(
            "the names of the alternatives do not fit their number",
            expected=f"one line '# ALTERNATIVE NAME i: ...' for each of the {n_alternatives} alternatives",
            got=f"names for {listing(sorted(found), most=8)}" if found else "no names",
            where=str(path),
        )
    if len(set(names)) < len(names) or "" in names:
        twice = [name for name, count in Counter(names).items() if count > 1 or not name]
        raise FormatError("alternatives need different names", got=listing(twice), where=str(path))
    return names


# One order --------------------------------------------------------------------------------------------


def _order(line: str, kind: str, n_alternatives: int, where: str) -> tuple[int, Blocks]:
    count, colon, order = line.partition(":")
    if not colon or not re.fullmatch(r"\s*[0-9]{1,12}\s*", count):
        expected = "count: order, such as '2: 1, {2, 3}'"
        raise FormatError("a line is not an order", expected=expected, got=repr(line[:60]), where=where)
    parts = _blocks(order, where)
    for text in (text for part in parts for text in part):
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= n_alternatives:
            expected = f"a number from 1 to {n_alternatives}"
            raise FormatError("an alternative is not known", expected=expected, got=repr(text[:40]), where=where)
    blocks = [[int(text) for text in part] for part in parts]
    given = [number for block in blocks for number in block]
    problem = ""
    if len(set(given)) < len(given):
        twice = next(number for number in given if given.count(number) > 1)
        problem = f"alternative {twice} stands twice in one order"
    elif kind.startswith("s") and any(len(block) > 1 for block in blocks):
        problem = f"an order has a tie, but the data type is {kind} (strict orders)"
    elif kind.endswith("c") and len(given) < n_alternatives:
        problem = f"an order is incomplete, but the data type is {kind} (complete orders)"
    if problem:
        raise FormatError(problem, got=f"{len(given)} of {n_alternatives} alternatives", where=where)
    return int(count), blocks


def _blocks(order: str, where: str) -> list[list[str]]:
    """Split an order into its blocks; the parts are checked later."""
    blocks: list[list[str]] = []
    tie_is_open = False
    for part in order.split(",") if order.strip() else []:
        text = part.strip()
        opens, closes = text.startswith("{") and not tie_is_open, text.endswith("}")
        if opens or not tie_is_open:
            blocks.append([])
        tie_is_open = (tie_is_open or opens) and not closes
        inner = text[1:] if opens else text
        inner = inner[:-1] if closes else inner
        if inner.strip() or not (opens or closes):
            blocks[-1].append(inner.strip())
    if tie_is_open or order.count("{") != order.count("}"):
        raise FormatError("a brace is not closed", expected="{2, 3} for a tie", got=repr(order[:60]), where=where)
    return blocks
