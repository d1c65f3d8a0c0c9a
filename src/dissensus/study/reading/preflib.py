"""PrefLib's files of orders (.soc, .soi, .toc, .toi), one per case, with counted anonymous voters."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TypeAlias

from dissensus.core.errors import FormatError, listing
from dissensus.core.files import Source, checked_path, read_text
from dissensus.study.reading.format import Collection, Format, Options, Parsed, files_of

KINDS = ("soc", "soi", "toc", "toi")
ENDINGS = tuple(f".{kind}" for kind in KINDS)
TYPE, ALTERNATIVES = "DATA TYPE", "NUMBER ALTERNATIVES"
VOTERS, ORDERS = "NUMBER VOTERS", "NUMBER UNIQUE ORDERS"

NAME = re.compile(r"ALTERNATIVE NAME (\d{1,9})")

# The blocks of an order: alternatives, or several in braces, between commas.
BLOCK = re.compile(r"(\s*\{[^{}]*\}\s*|[^{},]*),")
ORDER = re.compile(r"(\s*\{[^{}]*\}\s*|[^{},]*)(,(\s*\{[^{}]*\}\s*|[^{},]*))*")

Blocks: TypeAlias = list[list[int]]


class PrefLib(Format):
    """PrefLib's .soc, .soi, .toc, .toi files, or a directory of them."""

    id = "preflib"
    title = "PrefLib's .soc, .soi, .toc, .toi files, or a directory of them"
    kinds = ("directory", "text")

    def recognises(self, source: Source) -> bool:
        """Tell a file by its ending or its header, and a directory by such endings."""
        if source.kind == "directory":
            return any(path.suffix.lower() in ENDINGS for path in source.content)
        if source.kind != "text":
            return False
        return source.path.suffix.lower() in ENDINGS or f"# {TYPE}:" in source.content[:10_000]

    def parse(self, source: Source, options: Options) -> Parsed:  # noqa: ARG002 - the signature of every reader
        """Read one case per file, named by the file; every order has as many votes as voters gave it."""
        files, notes = files_of(source, ENDINGS, f"files ending in {', '.join(ENDINGS)}")
        said = Collection(notes)
        said.assume("every file is a case, named after it")
        said.assume("every voter is an annotator without a name")
        conditions: tuple[str, ...] | None = None
        for path in files:
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
    lines = [(number, line) for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1) if line.strip()]
    pairs = [line[1:].partition(":") for _, line in lines if line.startswith("#")]
    header = {key.strip().upper(): value.strip() for key, _, value in pairs}
    if TYPE not in header or ALTERNATIVES not in header:
        raise FormatError(
            "the file has no PrefLib header",
            expected=f"lines such as '# {TYPE}: toi' and '# {ALTERNATIVES}: 3'",
            got=repr(text.lstrip()[:40]),
            where=f"{path}, line 1",
            advice="download the file again; PrefLib's format of before 2022 is not read",
        )
    numbers = {key: _number(header[key], key, path) for key in (ALTERNATIVES, VOTERS, ORDERS) if key in header}
    kind, ending, names = header[TYPE].lower(), path.suffix.lower(), _names(header, numbers[ALTERNATIVES], path)
    if kind not in KINDS or (ending in ENDINGS and ending != f".{kind}"):
        expected = ending[1:] if ending in ENDINGS else f"one of {', '.join(KINDS)}"
        where = f"{path}, {TYPE}"
        raise FormatError("the data type does not fit", expected=expected, got=repr(header[TYPE]), where=where)
    ordered = [(number, line) for number, line in lines if not line.startswith("#")]
    orders = [_order(line, kind, len(names), f"{path}, line {number}") for number, line in ordered]
    empty = sum(count for count, blocks in orders for block in blocks if not block)
    if empty:
        said.note("empty braces in orders", "read as nothing", path.name, count=empty)
    for key, found in ((VOTERS, sum(count for count, _ in orders)), (ORDERS, len(orders))):
        if numbers.get(key, found) != found:
            raise FormatError(
                f"{key} does not fit the orders",
                expected=f"{header[key]}, as the header says",
                got=str(found),
                where=str(path),
                advice="the file may be cut off; download it again",
            )
    return names, [(count, [block for block in blocks if block]) for count, blocks in orders]


def _number(value: str, key: str, path: Path) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", value):
        raise FormatError(f"{key} is not a number", expected="a whole number", got=repr(value), where=f"{path}, {key}")
    return int(value)


def _names(header: dict[str, str], n_alternatives: int, path: Path) -> tuple[str, ...]:
    found = {int(match[1]): value for key, value in header.items() if (match := NAME.fullmatch(key))}
    names = tuple(found[number] for number in sorted(found))
    if sorted(found) != list(range(1, len(found) + 1)) or len(found) != n_alternatives:
        raise FormatError(
            "the names of the alternatives do not fit their number",
            expected=f"one line '# ALTERNATIVE NAME i: ...' for each of the {n_alternatives} alternatives",
            got=f"names for {listing(sorted(found), most=8)}" if found else "no names",
            where=str(path),
        )
    twice = [name for name, count in Counter(names).items() if count > 1 or not name]
    if twice:
        raise FormatError("alternatives need different names", got=listing(twice), where=str(path))
    return names


def _order(line: str, kind: str, n_alternatives: int, where: str) -> tuple[int, Blocks]:
    """Read how many voters gave an order, and its blocks; ``{2, 3}`` is a tie."""
    count, colon, order = line.partition(":")
    wrong: tuple[str, str, str] | None = None
    if not colon or not re.fullmatch(r"\s*[0-9]{1,12}\s*", count):
        wrong = "a line is not an order", "count: order, such as '2: 1, {2, 3}'", line[:60]
    elif not ORDER.fullmatch(order):
        wrong = "the braces of an order do not fit", "{2, 3} for a tie", order[:60]
    parts = [] if wrong or not order.strip() else [match[1].strip() for match in BLOCK.finditer(f"{order},")]
    inside = [part.strip("{}").strip() for part in parts]
    texts = [
        [text.strip() for text in one.split(",")] if one or not part else []
        for one, part in zip(inside, parts, strict=True)
    ]
    for text in (text for block in texts for text in block):
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= n_alternatives:
            wrong = wrong or ("an alternative is not known", f"a number from 1 to {n_alternatives}", text[:40])
    if wrong:
        problem, expected, got = wrong
        raise FormatError(problem, expected=expected, got=repr(got), where=where)
    blocks = [[int(text) for text in block] for block in texts]
    given = Counter(number for block in blocks for number in block)
    problem = ""
    if given and max(given.values()) > 1:
        problem = f"alternative {given.most_common(1)[0][0]} stands twice in one order"
    elif kind.startswith("s") and any(len(block) > 1 for block in blocks):
        problem = f"an order has a tie, but the data type is {kind} (strict orders)"
    elif kind.endswith("c") and len(given) < n_alternatives:
        problem = f"an order is incomplete, but the data type is {kind} (complete orders)"
    if problem:
        raise FormatError(problem, got=f"{given.total()} of {n_alternatives} alternatives", where=where)
    return int(count), blocks
