"""Write the documentation page: ``python -m paper.reproduction DATA paper/docs/reproduction.md``."""

from __future__ import annotations

import sys

from dissensus.core.errors import DissensusError
from paper.reproduction.experiments import reproduce
from paper.reproduction.page import write_page


def main(words: list[str]) -> int:
    """Reproduce the paper with the data of a directory, and write the page and its figures."""
    if len(words) != 2:
        print("usage: python -m paper.reproduction DATA PAGE.md", file=sys.stderr)
        return 2
    data, page = words
    try:
        for place in write_page(reproduce(data), page):
            print(place)
    except DissensusError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
