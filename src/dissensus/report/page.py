"""Put the sections together, and write the page whole."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dissensus.core.aliases import Path
from dissensus.core.checks import checked
from dissensus.core.output import checked_file_target, written_whole
from dissensus.evaluation import glossary, sentences, words
from dissensus.report.encoding import script_json
from dissensus.report.pictures import Picture
from dissensus.report.section import EXPLORER_CASES, ReportSection, ReportSubject, sections

if TYPE_CHECKING:
    from jinja2 import Environment

    from dissensus.evaluation.results import Evaluation


@checked
def write_report(
    evaluation: Evaluation,
    path: Path,
    *,
    title: str | None = None,
    explorer_cases: int = EXPLORER_CASES,
    remote_images: bool = False,
    overwrite: bool = False,
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
    remote_images
        Whether images of cases whose address begins with ``http``, ``https`` or ``//`` are loaded when a case is looked
        at. By default nothing is loaded from any network, and the page says where an image would be.
    overwrite
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dissensus import Study, evaluate, write_report
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> result = evaluate(said, {"A": [[0.9, 0.1], [0.4, 0.6]]}, aggregations=["plackett-luce:3"], draws=40)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(result, Path(folder) / "report.html", title="Two cases")
    ...     "<h1>Two cases</h1>" in (Path(folder) / "report.html").read_text(encoding="utf-8")
    True
    """
    checked_file_target(path, overwrite=overwrite)
    page = report_html(evaluation, title=title, explorer_cases=explorer_cases, remote_images=remote_images)
    with written_whole(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(page.encode("utf-8", "replace"))


def report_html(
    evaluation: Evaluation,
    *,
    title: str | None = None,
    explorer_cases: int = EXPLORER_CASES,
    remote_images: bool = False,
) -> str:
    """Return the report as text; see :func:`write_report`.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> report_html(evaluate(said, {}, aggregations=["dirichlet:1"], draws=40)).count("<h1>")
    1
    """
    subject = ReportSubject(evaluation, explorer_cases, remote_images)
    parts = [part_of(section, subject) for section in sections() if section.has(evaluation)]
    scripts = [_plotly_script(), _own("report.js")]
    page = _environment().get_template("page.html.jinja")
    return page.render(
        title=title or default_title(evaluation),
        policy=content_policy(scripts, remote_images=remote_images),
        style=Markup(_own("report.css")),
        scripts=[Markup(script) for script in scripts],
        page_data=script_json(page_data(parts)),
        evaluation=evaluation,
        parts=parts,
        writer=version("dissensus"),
    )


@dataclass(frozen=True)
class Part:
    """A section as it stands in the page: its words, its pictures, and what the script works on."""

    section: ReportSection
    body: Markup
    pictures: tuple[Picture, ...]
    data: dict[str, Any]


def part_of(section: ReportSection, subject: ReportSubject) -> Part:
    """Render a section."""
    pictures = tuple(section.pictures(subject))
    evaluation = subject.evaluation
    figures = _environment().get_template("figures.html.jinja").render(pictures=pictures, evaluation=evaluation)
    body = (
        _environment()
        .from_string(section.source())
        .render(
            evaluation=evaluation,
            reference=evaluation.runs[evaluation.reference].label,
            figures=Markup(figures),
            **section.words(subject),
        )
    )
    body = f"{sample_note(evaluation) if section.looks_at_cases else ''}{body}"
    return Part(section, Markup(body), pictures, dict(section.data(subject)))


def sample_note(evaluation: Evaluation) -> Markup:
    """Say where single cases are a sample of all of them; nothing if all are held."""
    if not evaluation.is_sample:
        return Markup("")
    held, total = len(evaluation.case_names), words.counted(evaluation.n_cases, "case")
    note = (
        "Figures and tables of this section are about a random sample of {} of the {}; numbers in sentences about all."
    )
    return Markup('<p class="note">' + note + "</p>").format(f"{held:,}", total)


def default_title(evaluation: Evaluation) -> str:
    """Say what the page is about."""
    n_models = len(evaluation.models)
    if not n_models:
        return "How certain the annotations are"
    return f"{words.counted(n_models, 'model')} evaluated against uncertain annotations"


def page_data(parts: Sequence[Part]) -> dict[str, Any]:
    """Gather what the script of the page works on."""
    from dissensus.figures import theme

    return {
        **{name: value for part in parts for name, value in part.data.items()},
        "figures": {one.name: one.data() for part in parts for one in part.pictures},
        "templates": {"light": theme.template(dark=False), "dark": theme.template(dark=True)},
        "hues": theme.HUES,
        "dashes": theme.DASHES,
        "symbols": theme.SYMBOLS,
        "patterns": theme.PATTERNS,
        "cross": theme.CROSS,
        "diverging": theme.DIVERGING,
    }


def content_policy(scripts: list[str], *, remote_images: bool = False) -> str:
    """Allow these scripts and no other, styles within the page, and pictures; nothing else may be fetched."""
    network = " https: http:" if remote_images else ""
    hashes = " ".join(f"'sha256-{base64.b64encode(_digest(script)).decode('ascii')}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        f"img-src 'self' data: blob: file:{network}; base-uri 'none'; form-action 'none'"
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
    environment.globals |= {
        "subjects": sentences.subjects,
        "term": glossary.term,
        "anchor": glossary.anchor,
        "counted": words.counted,
    }
    environment.filters |= {"number": words.number, "percent": words.percent, "value": words.value}
    return environment
