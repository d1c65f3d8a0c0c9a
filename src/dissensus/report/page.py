"""Put the page together, and write it whole."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dissensus.core.aliases import Path
from dissensus.core.files import written_whole
from dissensus.report import description, explorer, glossary, methods, sentences
from dissensus.report.encoding import script_json
from dissensus.report.pictures import Picture, pictures
from dissensus.report.scoreboard import scoreboard
from dissensus.report.selection import remembered, run_frame
from dissensus.study.rankings import Annotations

if TYPE_CHECKING:
    from jinja2 import Environment

    from dissensus.evaluation.results import Evaluation

EXPLORER_CASES = 2000
"""How many cases the explorer holds; of larger studies, the most uncertain ones."""


def write_report(
    evaluation: Evaluation, path: Path, *, title: str | None = None, explorer_cases: int = EXPLORER_CASES
) -> None:
    """Write the report of an evaluation: one file that opens offline, whole or not at all.

    Parameters
    ----------
    evaluation
        What to report.
    path
        Where to, usually ``report.html`` beside the results.
    title
        Heading of the page.
    explorer_cases
        How many cases can be looked at one by one; of more, the most uncertain ones are kept.
    """
    page = report_html(evaluation, title=title, explorer_cases=explorer_cases)
    with written_whole(path) as temporary:
        temporary.write_bytes(page.encode("utf-8", "replace"))


def report_html(evaluation: Evaluation, *, title: str | None = None, explorer_cases: int = EXPLORER_CASES) -> str:
    """Return the report as text; see :func:`write_report`."""
    from dissensus.evaluation.plots import told_apart

    evaluation = remembered(told_apart(evaluation))
    drawn = pictures(evaluation)
    cases = explorer.explored(evaluation, explorer_cases)
    scripts = [_plotly_script(), _own("report.js")]
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            title=title or default_title(evaluation),
            policy=content_policy(scripts),
            style=Markup(_own("report.css")),
            scripts=[Markup(script) for script in scripts],
            page_data=script_json(page_data(drawn, cases)),
            evaluation=evaluation,
            pictures=drawn,
            explorer={"shown": len(cases["cases"]), "total": cases["total"]},
            **_sections(evaluation),
        )
    )


def default_title(evaluation: Evaluation) -> str:
    """Say what the page is about."""
    n_models = len(evaluation.models)
    if not n_models:
        return "How certain the annotations are"
    return f"{sentences.counted(n_models, 'model')} evaluated against uncertain annotations"


def page_data(drawn: dict[str, list[Picture]], cases: dict[str, Any]) -> dict[str, Any]:
    """Gather what the script of the page works on."""
    from dissensus.figures import theme

    return {
        "figures": {one.name: one.data() for section in drawn.values() for one in section},
        "templates": {"light": theme.template(dark=False), "dark": theme.template(dark=True)},
        "hues": theme.HUES,
        "dashes": theme.DASHES,
        "symbols": theme.SYMBOLS,
        "patterns": theme.PATTERNS,
        "cross": theme.CROSS,
        "diverging": theme.DIVERGING,
        "glossary": glossary.GLOSSARY,
        "explorer": cases,
    }


def content_policy(scripts: list[str]) -> str:
    """Allow these scripts and no other, styles within the page, and pictures; nothing else may be fetched."""
    hashes = " ".join(f"'sha256-{base64.b64encode(_digest(script)).decode('ascii')}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src 'self' data: blob: file: https:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> bytes:
    return hashlib.sha256(script.encode("utf-8")).digest()


@cache
def _plotly_script() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@cache
def _own(name: str) -> str:
    return files("dissensus.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dissensus.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"term": glossary.term, "anchor": glossary.anchor, "counted": sentences.counted}
    environment.filters |= {"number": sentences.number, "percent": sentences.percent}
    return environment


def _sections(evaluation: Evaluation) -> dict[str, Any]:
    """Gather the words and tables of all sections."""
    return {
        "headline": sentences.headline(evaluation),
        "scoreboard": scoreboard(evaluation),
        "introduction": description.introduction(evaluation),
        "statistics": description.statistics(evaluation),
        "is_ranked": isinstance(evaluation.study, Annotations),
        "results": _results(evaluation),
        "verdicts": _verdicts(evaluation),
        "flips": evaluation.compare().flips().to_dicts() if len(evaluation.models) > 1 else [],
        "paragraph": methods.methods_paragraph(evaluation),
        "items": methods.guideline_items(evaluation),
        "runs": methods.run_rows(evaluation),
        "provenance": methods.provenance(evaluation),
        "excluded": methods.excluded_sentence(evaluation.excluded) if evaluation.excluded else None,
        "glossary": glossary.GLOSSARY,
        "metric_meanings": glossary.metric_meanings(one.name for one in evaluation.metrics),
        "aggregations": {
            run.aggregation: glossary.AGGREGATIONS.get(methods.kind_of(run), "") for run in evaluation.runs
        },
        "reference_label": evaluation.run_label(evaluation.reference),
    }


def _results(evaluation: Evaluation) -> list[dict[str, Any]]:
    return evaluation.to_frame().to_dicts() if evaluation.models else []


def _verdicts(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the comparisons of all pairs of models in the reference run, in words."""
    if len(evaluation.models) < 2:
        return []
    return run_frame(evaluation, evaluation.compare().to_frame(), evaluation.reference).to_dicts()
