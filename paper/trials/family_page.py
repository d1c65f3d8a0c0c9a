"""The section "Families that were tried" of the page on panel estimates, written from their held-out scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path as FilePath
from textwrap import fill
from typing import TYPE_CHECKING

from dissensus.aggregations.prior_fit import FIRMNESS
from dissensus.core.files import read_text
from dissensus.core.output import written_whole
from dissensus.core.screen import MINUS
from paper.trials.families import CONSTANT, FOLDS, MIXTURE, RAKING, USED, WITHOUT_FIRST, Family
from paper.trials.family_scores import FamilyScores, mean_gain, mean_score

if TYPE_CHECKING:
    from dissensus.core.arrays import Path

BEGIN, END = "<!-- trials: families -->", "<!-- end of families -->"
PLACE = re.compile(f"{BEGIN}\n.*?{END}\n", re.DOTALL)
"""Where the section stands in the page, so that it can be written alone."""

PER_TABLE, WIDTH = 5, 112
"""How many data sets stand side by side, and how long lines of words are."""

OPENING = f"""## Families that were tried

What the [informed prior](../../docs/explanation/panel.md) could be made of, compared by annotators who were left
out: one of every case that has two or more. The prior is fitted to the cases of other folds, {FOLDS} in all;
with the other votes of the case it gives the first choice of the one who was left out a probability, whose
logarithm is the score. A case is in several studies, and several of its annotators are left out in turn;
standard errors, in brackets, take the cases as independent. Gains are on the family that is used, in
thousandths.

```sh
python -m paper.trials DIR paper/docs/panel.md --only families     # writes this section; DIR also has alttest and ecg
```

*log score*, *score*, *first*: what a model says of a condition, each with a coefficient. *entropy*, *classes*: the
concentration of a case depends on the entropy of the prior's mean, and on its shares of the frequent conditions.
*raking*: the first place of a model has a coefficient for every quarter of its confidence. *ridge*: how firmly
coefficients are held near zero, {FIRMNESS[0]:g} for scores and {FIRMNESS[2]:g} for first places if nothing is said.
Models of alttest name one label and no more: *log score*, *score* and *first* then say the same.
"""
CONSTANT_WORDS = "worse on most data sets, but clearly better on wax, the smallest of them."
FIRST_WORDS = """about the same. Beside *score*, the first place of a model is hardly needed here, and therefore held
firmly; it stays because it is all there is to know of a model whose scores are nearly flat."""
RAKING_WORDS = """on ChaosNLI worse with 2 and 3 votes and about the same with 5 and 10, on CIFAR-10H and in all
simulated studies worse, on the electrocardiograms better."""
MIXTURE_WORDS = """a little better, clearly so on the disputed images of CIFAR-10H only. It is not used: a posterior
with two concentrations needs a sampler of its own, in which every draw of a case chooses one."""
REMARKS: tuple[tuple[Family, str], ...] = (
    (CONSTANT, CONSTANT_WORDS),
    (WITHOUT_FIRST, FIRST_WORDS),
    (RAKING, RAKING_WORDS),
    (MIXTURE, MIXTURE_WORDS),
)
SHARED_WORDS = """In all families the vote of a tied first block goes to one of its conditions, in several ways. Shared
by halves, it looks as if annotators agreed on the halves: the fitted concentration of a simulated study was 1500 rather
than 20."""
CHOSEN_WORDS = """The family that is used was chosen on these data sets. What it gains on those below it may be less
elsewhere."""

NEAR, CLEAR, TOLD = 0.002, 2.0, 5e-5
"""Families are near the one that is used up to this distance; a difference is clear from so many standard errors,
and none if it is smaller than the last digit shown."""


def section(scores: Sequence[FamilyScores]) -> str:
    """Return the section as Markdown, between its markers."""
    parts = [scores[start : start + PER_TABLE] for start in range(0, len(scores), PER_TABLE)]
    tables = [data_set_table(part) for part in parts]
    return "\n".join([BEGIN, OPENING, mean_table(scores), verdict(scores), remarks(scores), *tables, END, ""])


def with_section(page: str, text: str, place: re.Pattern[str] = PLACE) -> str:
    """Put a section into a page: in its place, or at the end if it has none."""
    return place.sub(lambda _: text, page) if place.search(page) else f"{page.rstrip()}\n\n{text}"


def write_section(section: str, path: Path, place: re.Pattern[str] = PLACE) -> FilePath:
    """Write a section of a page anew, and leave the rest as it is."""
    target = FilePath(path)
    text = with_section(read_text(target), section, place)
    with written_whole(target, overwrite=True) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return target


def verdict(scores: Sequence[FamilyScores]) -> str:
    """Say which family has the highest mean, by how much, and how many of the small differences are clear."""
    best = max(scores[0].families, key=lambda name: mean_score(scores, name))
    gain, error = mean_gain(scores, best)
    lead = "" if best == USED.name else f", by {gain:.4f} (standard error {error:.4f})"
    clear = [abs(gain) > CLEAR * error for gain, error in _near_gains(scores)]
    highest = f"Highest over {len(scores)} data sets: *{best}*{lead}."
    near = f"Families within {NEAR:g} of the one that is used on average differ from it {len(clear)} times on a single "
    near += f"data set; {sum(clear)} of these differences are more than twice their standard error."
    return f"{highest}\n{_filled(near)}\n"


def _near_gains(scores: Sequence[FamilyScores]) -> list[tuple[float, float]]:
    """Return gains and standard errors, data set by data set, of the families that are near the one that is used."""
    near = [name for name in scores[0].families if abs(mean_gain(scores, name)[0]) <= NEAR]
    found = [mean_gain([one], name) for name in near for one in scores]
    return [(gain, error) for gain, error in found if abs(gain) >= TOLD]


def remarks(scores: Sequence[FamilyScores]) -> str:
    """Say what became of the families that are not used."""
    known = [(family.name, words) for family, words in REMARKS if family.name in scores[0].families]
    gains = [f"*{name}*, {_gain(scores, name)}: {words}" for name, words in known]
    return "\n".join([*(_filled(f"- {told}", "  ") for told in (*gains, SHARED_WORDS, CHOSEN_WORDS)), ""])


def _filled(words: str, indent: str = "") -> str:
    return fill(" ".join(words.split()), WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def mean_table(scores: Sequence[FamilyScores]) -> str:
    """Return the mean score of every family over data sets, and its gain on the one that is used."""
    lines = ["| family | mean log score | gain, thousandths |", "|---|---:|---:|"]
    lines += [
        f"| {name} | {signed(mean_score(scores, name), '.4f')} | {_gain(scores, name)} |" for name in scores[0].families
    ]
    return "\n".join([*lines, ""])


def data_set_table(scores: Sequence[FamilyScores]) -> str:
    """Return the mean score of every family on some data sets, with its gain in brackets."""
    lines = [f"| family | {' | '.join(one.title for one in scores)} |", "|---|" + "---:|" * len(scores)]
    for name in scores[0].families:
        cells = [signed(mean_score([one], name), ".4f") for one in scores]
        if name != USED.name:
            cells = [f"{cell}; {_gain([one], name)}" for cell, one in zip(cells, scores, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    first = [f"{len(set(one.cases))} cases, {len(one.cases)} first choices" for one in scores]
    return "\n".join([*lines, f"| *judged by* | {' | '.join(first)} |", ""])


def _gain(scores: Sequence[FamilyScores], name: str) -> str:
    if name == USED.name:
        return "-"
    gain, error = mean_gain(scores, name)
    return f"{signed(1000 * gain, '+.1f')} ({1000 * error:.1f})"


def signed(value: float, form: str) -> str:
    """Write a number with a true minus sign, and nothing before a zero.

    >>> signed(-0.04, "+.1f"), signed(-1.26, "+.1f"), signed(2.0, "+.1f")
    ('0.0', '\N{MINUS SIGN}1.3', '+2.0')
    """
    text = f"{value:{form}}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)
