"""Ways in which files go wrong: bytes, lines, cells and words are lost, doubled, swapped and replaced."""

import re
from collections.abc import Callable
from random import Random

NASTY = [
    *(b"", b" ", b"  ", b"NaN", b"nan", b"inf", b"-inf", b"Infinity", b"1e308", b"1e309", b"-1e309", b"-1", b"0"),
    *(b"-0.0", b"0.5", b"1.0", b"2", b"1e0", b"1_0", b"0x10", b"+1", b"007", b"1,5", b"9" * 19, b"9" * 40),
    *(b"18446744073709551616", b"-9223372036854775809", b"9223372036854775807", b"1" * 5000, b"a" * 140_000),
    *(b'"', b'""', b'"""', b"'", b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\n\r", b"\0", b"\x1a", b"\x1b[31m"),
    *(b"\xef\xbb\xbf", b"\xff", b"\xed\xa0\x80", b"\xc3", "\u202eabc".encode(), "\u200b".encode(), "\u2028".encode()),
    *("e\u0301".encode(), "\u00e9".encode(), "\U0001f9a0".encode(), b"\x85", b"\\ud800", b'"\\ud800"', b"\\u0000"),
    *(b"null", b"true", b"false", b"[]", b"{}", b"[[]]", b"[" * 3000, b'{"a":' * 3000, b">", b"=", b"a>b=c", b"a>>b"),
    *(b"oak=oak", b"#", b":", b"{1, 2}", b"_duplicated_0", b"case", b"rank", b"condition", b"annotator", b"score"),
    *(b"row number in the source", b"weight", b"group", b"unranked", b"below", b"unobserved", b"annotation"),
    *(b"__index_level_0__",),
    *(b"()", b"(-1, 3)", b"(3, 0)", b"(99999999999, 99)", b"|O", b"<U0", b"<f2", b"<c16", b"<M8[ns]", b"True"),
]
WORD = re.compile(rb"[A-Za-z0-9_.]+|[^A-Za-z0-9_.\s]")

Mutation = Callable[[bytes, Random], bytes]


def mutated(content: bytes, others: list[bytes], chance: Random) -> bytes:
    """Change a file in one to three ways."""
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
        if chance.random() < 0.04:
            other = chance.choice(others)
            content = chance.choice((content + other, other + content, content + content, content + b"\n" + content))
        else:
            content = chance.choice(MUTATIONS)(content, chance)
    return content


def _bytes(content: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    end = min(len(content), at + chance.choice((0, 1, 1, 2, 8)))
    piece, new = content[at:end], bytes([chance.randrange(256)])
    flipped = bytes([piece[0] ^ (1 << chance.randrange(8)), *piece[1:]]) if piece else b""
    return content[:at] + chance.choice((b"", piece * 2, new, flipped)) + content[end:]


def _truncated(content: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] if chance.random() < 0.8 else content[at:]


def _inserted(content: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.choice(NASTY) + content[at:]


def _lines(content: bytes, chance: Random) -> bytes:
    return b"\n".join(_rearranged(content.split(b"\n"), chance))


def _line_ends(content: bytes, chance: Random) -> bytes:
    ends = chance.choice((b"\r\n", b"\r", b"\n\r", b"\r\r\n", b"\n\n", b" \n", b"\x85", "\u2028".encode()))
    if chance.random() < 0.5:
        return content.replace(b"\n", ends)
    return content.replace(b"\n", ends, chance.randrange(1, 3))


def _cells(content: bytes, chance: Random) -> bytes:
    """Rearrange or replace the cells of a line."""
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    mark = max((b",", b"\t", b";", b"|", b" "), key=content.count)
    lines[at] = mark.join(_rearranged(lines[at].split(mark), chance))
    return b"\n".join(lines)


def _columns(content: bytes, chance: Random) -> bytes:
    """Lose, double, move or spoil a column in all lines."""
    mark = max((b",", b"\t", b";", b"|"), key=content.count)
    rows = [line.split(mark) for line in content.split(b"\n")]
    state = chance.getrandbits(32)
    return b"\n".join(mark.join(_rearranged(row, Random(state))) for row in rows)


def _separators(content: bytes, chance: Random) -> bytes:
    old, new = chance.sample((b",", b"\t", b";", b"|", b" ", b"=", b">"), 2)
    return content.replace(old, new)


def _words(content: bytes, chance: Random) -> bytes:
    """Replace a word by another of the file, or by a nasty one."""
    found = list(WORD.finditer(content))
    if not found:
        return content
    word, other = chance.choice(found), chance.choice(found)[0]
    new = chance.choice(
        (chance.choice(NASTY), other, b"", word[0] * 2, b'"' + word[0] + b'"', b" " + word[0], word[0].upper())
    )
    if chance.random() < 0.2:
        return content.replace(word[0], new)
    return content[: word.start()] + new + content[word.end() :]


def _rearranged(items: list[bytes], chance: Random) -> list[bytes]:
    at, other = chance.randrange(len(items)), chance.randrange(len(items))
    act = chance.randrange(6)
    if act == 0:
        return items[:at] + items[at + 1 :]
    if act == 1:
        return [*items[:at], items[at], *items[at:]]
    if act == 2:
        items[at], items[other] = items[other], items[at]
    elif act == 3:
        items[at] = chance.choice(NASTY)
    elif act == 4:
        items[at] = b'"' + items[at].replace(b'"', b'""') + b'"'
    else:
        items.insert(other, items[at])
    return items


MUTATIONS: tuple[Mutation, ...] = (
    *(_bytes, _truncated, _inserted, _lines, _line_ends, _cells, _cells, _columns, _separators, _words, _words, _words),
)
