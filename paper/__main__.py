"""Run everything, and write all pages anew: ``python -m paper DATA``, in the directory of the repository."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from paper.reproduction.__main__ import main as reproduction
from paper.trials.__main__ import main as panel_trials
from paper.trials.data_set_page import main as data_set_trials

ROOT = Path(__file__).parents[1]


def main(words: list[str] | None = None) -> int:
    """Reproduce the paper, try panel estimates, and try metrics of a whole data set; stop at what goes wrong."""
    parser = argparse.ArgumentParser(prog="python -m paper", description="Run all experiments and trials.")
    parser.add_argument("data", help="directory with the published data, see paper/docs/datasets.md")
    parser.add_argument("--studies", type=int, help="studies of each kind in the trials; fewer are quicker")
    given = parser.parse_args(words)
    effort = [] if given.studies is None else ["--studies", str(given.studies)]
    return (
        reproduction([given.data, str(ROOT / "paper" / "docs" / "reproduction.md")])
        or panel_trials([given.data, str(ROOT / "paper" / "docs" / "panel.md"), *effort])
        or data_set_trials([str(ROOT / "docs" / "evidence" / "data-set-metrics.md"), *effort])
    )


if __name__ == "__main__":
    sys.exit(main())
