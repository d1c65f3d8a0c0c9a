"""Put the sections together, and write the page whole."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dissensus.core.arrays import Path
from dissensus.core.checks import checked
from dissensus.core.output import checked_file_target, written_whole
from dissensus.evaluation.first_screen import subject as subject_of
from dissensus.figures import theme
from dissensus.report.section import EXPLORER_CASES, ReportSection, ReportSubject, environment, own_text, sections
from dissensus.report.sections.models import called

if TYPE_CHECKING:
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
    evaluation: Evaluation, *, title: str | None = None, remote_images: bool = False, **options: int
) -> str:
    """Return the report as text; see :func:`write_report`.

    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> report_html(evaluate(said, {}, aggregations=["dirichlet:1"], draws=40)).count("<h1>")
    1
    """
    subject = ReportSubject(evaluation, remote_images=remote_images, **options)
    parts = [part_of(section, subject) for section in sections() if section.has(evaluation)]
    scripts, template = [own_text("report.js")], environment(autoescape=True).get_template("page.html.jinja")
    worked_on = {name: value for part in parts for name, value in part["data"].items()}
    return template.render(
        title=title or question(evaluation),
        policy=content_policy(scripts, remote_images=remote_images),
        style=Markup(own_text("report.css")),
        scripts=[Markup(script) for script in scripts],
        page_data=script_json({**worked_on, "hues": theme.HUES}),
        evaluation=evaluation,
        about=subject_of(evaluation),
        parts=parts,
        writer=version("dissensus"),
    )


# What could end a script element or a line of one, and how JSON writes it instead.
UNSAFE = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def script_json(value: object) -> Markup:
    r"""Write a value as JSON that is safe inside a script element.

    >>> script_json({"a": "</script>"})
    Markup('{"a":"\\u003c/script\\u003e"}')
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(UNSAFE))


def question(evaluation: Evaluation) -> str:
    """Ask what the page answers.

    >>> from dissensus import Study, evaluate
    >>> question(evaluate(Study.from_counts([[3, 1]], ["a", "b"]), {}, aggregations=["majority-vote"]))
    'How certain are the annotations?'
    """
    match evaluation.models:
        case ():
            return "How certain are the annotations?"
        case (one,):
            return f"Is {one} as good as {'an' if called(evaluation)[0] in 'aeiou' else 'a'} {called(evaluation)}?"
        case (one, other):
            return f"{one} or {other}?"
        case many:
            return f"Which of {len(many)} models?"


def part_of(section: ReportSection, subject: ReportSubject) -> dict[str, Any]:
    """Render a section as it stands in the page: its words and charts, and what the script works on."""
    from dissensus.figures.charts import svg

    evaluation, page = subject.evaluation, environment(autoescape=True)
    figure: Any = page.globals["figure"]
    drawn = [(name, chart, Markup(svg(chart, name))) for name, chart in section.charts(subject).items()]
    known = {"evaluation": evaluation, "reference": evaluation.runs[evaluation.reference].label}
    known["figures"] = Markup("").join(figure(*one) for one in drawn)
    body = Markup(page.from_string(section.source()).render(**known, **section.words(subject)))
    if section.looks_at_cases and evaluation.is_sample:
        body = page.globals["sampled"](evaluation) + body  # type: ignore[operator]
    return {"section": section, "body": body, "data": section.data(subject)}


def content_policy(scripts: list[str], *, remote_images: bool = False) -> str:
    """Allow these scripts and no other, styles within the page, and pictures; nothing else may be fetched."""
    network = " https: http:" if remote_images else ""
    digests = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        f"img-src 'self' data: blob: file:{network}; base-uri 'none'; form-action 'none'"
    )
