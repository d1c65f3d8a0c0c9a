"""Write the documentation page: ``python -m paper.trials DATA paper/docs/panel.md``.

With ``--only attacks`` or ``--only families``, this section alone: half an hour, or some minutes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dissensus.core.errors import DissensusError
from paper.trials import attack_page, family_page
from paper.trials.family_page import write_section
from paper.trials.panel_page import GUIDE, write_page
from paper.trials.plan import Effort, proof, tried_attacks, tried_families


def main(words: list[str] | None = None) -> int:
    """Try panel estimates with the data of a directory, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m paper.trials", description="See whether panel estimates hold.")
    parser.add_argument("data", help="directory with the folders chaosnli_snli, cifar10h, alttest and ecg")
    parser.add_argument("page", help="where the page goes, for example paper/docs/panel.md")
    parser.add_argument("--studies", type=int, default=20, help="studies of each kind")
    parser.add_argument("--draws", type=int, default=500, help="draws of every case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", choices=["attacks", "families"], help="write this section of a page that is there, no other"
    )
    given = parser.parse_args(words)
    effort = Effort(given.studies, given.draws, given.seed)
    try:
        if given.only == "attacks":
            found = tried_attacks(given.data, effort, watch=_say)
            texts = {Path(given.page): attack_page.section(*found)}
            texts[Path(given.page).parent / GUIDE] = attack_page.guide_section(found[0])
            written = [write_section(text, page, attack_page.PLACE) for page, text in texts.items() if page.is_file()]
        elif given.only:
            text = family_page.section(tried_families(given.data, effort, watch=_say))
            written = [write_section(text, given.page)]
        else:
            written = [*write_page(proof(given.data, effort, watch=_say), given.page)]
        print(*written, sep="\n")
    except DissensusError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _say(what: str, done: int, total: int) -> None:
    print(f"\r{done}/{total} {what:<60}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
