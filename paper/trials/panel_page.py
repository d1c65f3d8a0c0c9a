"""The documentation page "Do panel estimates hold?", written from what was tried."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.output import written_whole
from dissensus.core.screen import MINUS
from dissensus.evaluation.estimates import PANEL
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Chart, Line, Pane, named_places
from paper.trials import attack_page, plan, safety
from paper.trials.coverage import DIFFERENCE, MODEL, summary
from paper.trials.family_page import section, with_section

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import Path
    from paper.trials.plan import Proof

LEAST, MOST, POINTS = 0.85, 0.95, 1.0
"""How often 90 % intervals should hold, and how many points estimates may be off on average."""

OPENING = """# Do panel estimates hold?

[Is the panel estimate circular?](../../docs/explanation/panel.md) says what the *panel* estimate is: an estimate,
which leans on the models' own predictions, of the metric against what a large panel of such annotators would say.
How good it is can be seen where a large panel was asked. These data sets were at hand while the estimate was
developed; on four others (texts, chest films, sleep stages, caries)
an earlier version read 1.4 to 4.6 points too high. What breaks it is under
[Attacks](#attacks). From
data in which 50 or 100 people labelled every case, small studies are drawn: some of the cases, 2 to 10 of the
labels of each. Every number is computed from the small study alone and held against what all labels say. In
simulated studies the truth is known without any panel.

```sh
make paper DATA=DIR STUDIES=40     # writes this page; DIR has the folders chaosnli_snli and cifar10h, see Data sets
```

**bias**: mean of estimate minus truth on the cases of the study, in points (hundredths). **holds**: share of 90
% intervals that hold the truth about *all* cases, from which those of the study are a sample; that is what
intervals are for. In brackets, the standard error of this share; studies are what is independent, models of the
same study are not. **here**: share that holds the truth about the study's own cases, which should be more, for
which cases were drawn is part of the interval. **width**: mean width of the intervals, in points. The truth of
*agreement* is the chance that one of the crowd, taken at random, names what the model names; the truth of all
other numbers is top-1 accuracy against the label that most of the crowd gave, ties shared.
"""

CHAOS_WORDS = f"""Pairs of sentences, 3 labels, 100 people each, five networks. {plan.CHAOS_CASES} of 1514 pairs
a study. About a quarter of all pairs is in each study, so that a perfect 90 % interval holds somewhat more
often than in 90 %: about 93 %.
"""
CIFAR_WORDS = f"""Images, 10 labels, about 50 people each, three networks. Of the {plan.CIFAR_DISPUTED} images
whose leading label has the lowest share, {plan.CIFAR_CASES} a study.
"""
SIMULATED_WORDS = f"""Partial rankings with ties, {plan.SIMULATED_CASES} cases, {plan.SIMULATED_OPINIONS[0]} to
{plan.SIMULATED_OPINIONS[1]} annotators each, four models that see the logarithms of the true plausibilities
through noise (`Expertise.blurred`) and list ten conditions. The truth is the condition with the greatest
plausibility; about all cases, it is the mean over all studies. Annotators tie conditions at the first place,
which shares their vote, so that the truth of agreement is not known here.
"""
LIMIT_WORDS = """Models that know near-ties, 60 conditions. Aster, and in part Birch, Clover and Dahlia, are told
which condition has the greatest plausibility, by however little: where two conditions are as good as equal, a
handful of opinions cannot tell who is right, and nothing a model says elsewhere shows that it would know. This
is the limit of what few opinions tell, and it stands apart for that reason. Elder sees all conditions through
the same noise, like the models above.
"""
SAFETY_WORDS = f"""## What must not happen

Sub-studies of ChaosNLI with {safety.FEW} votes a case. No estimate should move by more than a tenth of its
interval when a model is added that knows nothing, or nothing new. A model whose cases are permuted should be
worth nothing. The gain is that of the mean log-probability of a vote, which a prior has before it sees the
case's votes. A model that repeats an annotator should be recognised. And with {safety.MANY} votes a case, all
numbers should come to the same.
"""
TOLD: Mapping[str, str] = {
    plan.CHAOS_TITLE: CHAOS_WORDS,
    plan.CIFAR_TITLE: CIFAR_WORDS,
    plan.SIMULATED_TITLE: SIMULATED_WORDS,
    plan.LIMIT_TITLE: LIMIT_WORDS,
}
HEAD = ("number", "bias", "holds", "here", "width")
GUIDE = "../../docs/explanation/panel.md"
PLACE = re.compile(r"(<!-- trials: chaosnli -->\n).*?(<!-- end of trials -->)", re.DOTALL)
"""Where the guide of the package shows a few numbers of the page."""

FIGURE = "images/panel-bias.svg"


def write_page(proof: Proof, path: Path) -> tuple[FilePath, ...]:
    """Write the page and its figure anew, and the few numbers in the guide of the package; return what was written."""
    from dissensus.figures.charts import write_chart

    target = FilePath(path)
    figure, guide = target.parent / FIGURE, target.parent / GUIDE
    figure.parent.mkdir(parents=True, exist_ok=True)
    write_chart(bias_chart(proof.rows), figure, overwrite=True)
    texts = {target: page_text(proof)}
    if guide.is_file():
        short = guide_table(proof.rows)
        told = PLACE.sub(lambda found: f"{found[1]}{short}{found[2]}", guide.read_text(encoding="utf-8"))
        texts[guide] = with_section(told, attack_page.guide_section(proof.attacks[0]), attack_page.PLACE)
    for place, text in texts.items():
        with written_whole(place, overwrite=True) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return (*texts, figure)


def page_text(proof: Proof) -> str:
    """Return the page as Markdown."""
    sections = [_section(proof.rows, title) for title in TOLD]
    figure = f"![Mean of number minus truth]({FIGURE})\n\n*ChaosNLI, mean of number minus truth, in points.*\n"
    told = [OPENING, verdict(proof.rows), figure, *sections, SAFETY_WORDS, safety_table(proof.safety), _closing(proof)]
    return "\n".join([*told, attack_page.section(*proof.attacks), section(proof.families)])


def guide_table(rows: pl.DataFrame) -> str:
    """Return a short table of ChaosNLI: bias and share that holds, by number and votes."""
    found = _chaosnli(rows)
    opinions = found["opinions"].unique(maintain_order=True).to_list()
    lines = [f"| number | {' | '.join(opinions)} |", "|---|" + "---|" * len(opinions)]
    for (number,), part in found.group_by("number", maintain_order=True):
        cells = {row["opinions"]: f"{points(row['bias'])}, {share(row['holds'])}" for row in part.iter_rows(named=True)}
        lines.append(f"| {number} | " + " | ".join(cells.get(one, "-") for one in opinions) + " |")
    return "\n".join([*lines, ""])


def _chaosnli(rows: pl.DataFrame) -> pl.DataFrame:
    return summary(rows.filter(experiment=plan.CHAOS_TITLE, kind=MODEL), ["number", "opinions"])


def bias_chart(rows: pl.DataFrame) -> Chart:
    """Follow the mean of number minus truth on ChaosNLI from few votes to more."""
    found = _chaosnli(rows)
    opinions = found["opinions"].unique(maintain_order=True).to_list()
    lines = []
    for place, ((number,), part) in enumerate(found.group_by("number", maintain_order=True)):
        x = np.array([opinions.index(one) for one in part["opinions"]], dtype=np.float64)
        lines.append(Line(x, 100 * part["bias"].to_numpy(), str(number), theme.hue(place), place, symbol=place))
    level = Line(np.array([-0.4, len(opinions) - 0.6]), np.zeros(2), "", theme.NEUTRAL)
    pane = Pane((level, *lines), named_places(opinions), Axis("number minus truth, points", form=".1f"))
    return Chart("ChaosNLI: number minus truth", (pane,), "Mean over studies and models.")


def verdict(rows: pl.DataFrame) -> str:
    """Say where panel estimates are not as they should be; models that know near-ties stand apart."""
    import polars as pl

    judged = rows.filter(pl.col("estimand") == PANEL, pl.col("experiment") != plan.LIMIT_TITLE)
    if not len(judged):
        return "No panel estimate was made.\n"
    found = summary(judged, ["experiment", "opinions", "kind"]).to_dicts()
    wrong = [fault for row in found for fault in faults(row)]
    told = f"Of {len(found)} rows on panel estimates, {len(found) - len({one[0] for one in wrong})} hold in "
    told += f"{LEAST:.0%} to {MOST:.0%} of studies and are off by at most {POINTS:g} point on average."
    return told.replace("%", " %") + "".join(f"\n- {place}: {what}" for place, what in wrong) + "\n"


def faults(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name what is outside of what it should be in a row of the summary.

    >>> row = {"experiment": "A", "opinions": "3 votes", "kind": "model", "bias": 0.02, "holds": 0.9, "error": 0.03}
    >>> faults(row)
    [('A, 3 votes, models', 'off by +2.0 points')]
    """
    place = f"{row['experiment']}, {row['opinions']}, {row['kind']}s"
    found = []
    if abs(100 * row["bias"]) > POINTS:
        found.append((place, f"off by {points(row['bias'])} points"))
    if not LEAST <= row["holds"] <= MOST:
        found.append((place, f"holds in {share(row['holds'])}{_error(row)}"))
    return found


def _section(rows: pl.DataFrame, title: str) -> str:
    import polars as pl

    own = rows.filter(pl.col("experiment") == title)
    parts = [f"## {title}\n", f"{TOLD[title]}\n"]
    for (opinions,), part in own.group_by("opinions", maintain_order=True):
        parts += [f"### {title}: {opinions}\n", f"{_studies(part)} studies.\n"]
        parts += [_table(summary(part.filter(kind=kind), ["number"]), HEAD_OF[kind]) for kind in (MODEL, DIFFERENCE)]
        alone = part.filter(kind=MODEL, estimand=PANEL)
        parts += [_table(summary(alone, ["name"]), ("panel, by model", *HEAD[1:]))] if len(alone) else []
    return "\n".join(parts)


HEAD_OF: Mapping[str, Sequence[str]] = {MODEL: ("of a model", *HEAD[1:]), DIFFERENCE: ("of two models", *HEAD[1:])}


def _studies(part: pl.DataFrame) -> int:
    return int(part["study"].n_unique())


def _table(found: pl.DataFrame, head: Sequence[str]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|---:|---:|---:|---:|"]
    for row in found.iter_rows(named=True):
        shares = (share(row["holds"]) + _error(row), share(row["holds_here"]))
        cells = (row.get("number") or row["name"], points(row["bias"]), *shares, f"{100 * row['width']:.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def points(value: float | None) -> str:
    """Write a difference in points.

    >>> points(0.0123), points(-0.0001), points(None)
    ('+1.2', '0.0', '-')
    """
    if value is None:
        return "-"
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f}".replace("-", MINUS) if rounded else "0.0"


def share(value: float | None) -> str:
    """Write a share.

    >>> share(0.917), share(None)
    ('92 %', '-')
    """
    return "-" if value is None else f"{100 * value:.0f} %"


def _error(row: Mapping[str, Any]) -> str:
    return "" if row["error"] is None else f" ({100 * row['error']:.0f})"


def safety_table(rows: pl.DataFrame) -> str:
    """Return the mean, the least and the greatest answer to every question."""
    import polars as pl

    answer = pl.col("answer")
    found = rows.group_by("question", maintain_order=True).agg(
        mean=answer.mean(), least=answer.min(), greatest=answer.max()
    )
    lines = ["| question | mean | least | greatest |", "|---|---:|---:|---:|"]
    lines += [f"| {question} | {mean:.3f} | {least:.3f} | {most:.3f} |" for question, mean, least, most in found.rows()]
    return "\n".join([*lines, ""])


def _closing(proof: Proof) -> str:
    effort = proof.effort
    return (
        f"This run: {effort.studies} studies of each kind, {effort.draws} draws of every case, seed {effort.seed}; "
        f"{proof.minutes:.0f} minutes on two cores.\n"
    )
