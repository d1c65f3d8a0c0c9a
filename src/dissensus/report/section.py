"""What a section of the report is: an id, a title, a place among the others, words, charts and a template.

Charts are drawn when the page is written: it needs no plotting library, and is complete without any script.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

from markupsafe import Markup

from dissensus.core.spec import Family, Registered

if TYPE_CHECKING:
    from jinja2 import Environment

    from dissensus.evaluation.plots import Plots, Tables
    from dissensus.evaluation.results import Evaluation
    from dissensus.figures.charts import Chart

# How many cases the explorer holds; of larger studies, the most uncertain ones.
EXPLORER_CASES = 20_000


@cache
def own_text(name: str) -> str:
    """Return one of the files that a page is made of."""
    return files("dissensus.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def environment(*, autoescape: bool) -> Environment:
    """Return what fills in templates: of the page, in which names are escaped, or of plain text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from dissensus.core.screen import counted
    from dissensus.evaluation.sentences import capital, joined, rows_of, subjects
    from dissensus.study.diagnosis import spread

    found = Environment(autoescape=autoescape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.loader = PackageLoader("dissensus.report", "templates")
    words = (anchor, capital, counted, joined, rows_of, spread, subjects, term)
    found.globals |= {word.__name__: word for word in words}
    macros: Any = found.get_template("macros.html.jinja").module
    found.globals |= {name: getattr(macros, name) for name in ("table", "figure", "sampled")}
    return found


def paragraph(template: str, **words: object) -> str:
    """Fill in a template of plain text: every line is a sentence or more, and together they are a paragraph."""
    return " ".join(filter(None, environment(autoescape=False).get_template(template).render(words).split("\n")))


@cache
def glossary() -> dict[str, str]:
    """Return what every technical term means; what metrics and aggregations mean, they say themselves."""
    return tomllib.loads(own_text("glossary.toml"))


def term(word: str, shown: str | None = None) -> Markup:
    """Mark a term so that a pointer, a finger or the keyboard can ask what it means.

    >>> term("draw", "draws")
    Markup('<a class="term" href="#term-draw" data-term="draw">draws</a>')
    """
    if word not in glossary():
        raise KeyError(word)
    return Markup('<a class="term" href="#{}" data-term="{}">{}</a>').format(anchor(word), word, shown or word)


def anchor(word: str) -> str:
    """Return where the glossary explains a term.

    >>> anchor("expected risk")
    'term-expected-risk'
    """
    return f"term-{word.replace(' ', '-')}"


@dataclass(frozen=True)
class ReportSubject:
    """What a page is about: an evaluation, its figures, and its tables, each computed once."""

    evaluation: Evaluation
    explorer_cases: int = EXPLORER_CASES
    remote_images: bool = False

    @cached_property
    def explored(self) -> ReportSubject:
        """What the explorer shows: of a study larger than memory, the cases with the least certainty."""
        disputed = self.evaluation.disputed
        return self if disputed is None else replace(self, evaluation=disputed)

    @cached_property
    def plots(self) -> Plots:
        """The figures."""
        from dissensus.evaluation.plots import Plots

        return Plots(self.evaluation)

    @property
    def tables(self) -> Tables:
        """The tables."""
        return self.plots.tables


class ReportSection(Registered):
    """Write one section of the report.

    A new section is a class with an ``id``, a :attr:`title` and a template, in a module of
    ``report/sections``, or in an installed package that names it as an entry point of the group
    ``dissensus.sections``. Everything else has a default.

    Attributes
    ----------
    id
        Its anchor in the page.
    title
        Its heading.
    place
        Sections are in ascending order of this number; those of Dissensus are 10, 20 and so on.
    shows
        The figures that it shows, by their names in ``dissensus plot RESULTS --list``, of the primary metric; those in
        which there is nothing to compare are left out.
    template
        A Jinja template: it knows the :meth:`words`, ``figures`` (all charts, drawn), ``evaluation``, ``reference``
        (the label of the reference run), ``term(word)`` and ``counted(number, noun)``, and names in it are escaped.
        If there is none, it is the file beside the module that is called like the id, or like the module, and ends in
        ``.html.jinja``.
    is_wide
        Whether it takes the whole width of the page.
    is_folded
        Whether it is seen on request.
    looks_at_cases
        Whether it shows single cases, or what is found from them: of a study larger than memory these are a sample, and
        the page says so.

    Examples
    --------
    >>> [section.id for section in sections()][:3]
    ['summary', 'cases', 'models']
    >>> ReportSection.family.find("certainty").shows
    ('certainty_by_top',)
    """

    family: ClassVar[Family[ReportSection]] = Family(
        "report section", "dissensus.report.sections", "dissensus.sections"
    )

    title: ClassVar[str] = ""
    place: ClassVar[float] = 75
    shows: ClassVar[tuple[str, ...]] = ()
    template: ClassVar[str] = ""
    is_wide: ClassVar[bool] = False
    is_folded: ClassVar[bool] = False
    looks_at_cases: ClassVar[bool] = False

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether there is something to say: by default, whether any of the figures can be drawn.

        Examples
        --------
        >>> from dissensus import Study, evaluate
        >>> result = evaluate(Study.from_counts([[3, 1]], ["a", "b"]), {}, aggregations=["majority-vote"])
        >>> {section.id: section.has(result) for section in sections() if section.id in ("certainty", "models")}
        {'models': False, 'certainty': True}
        """
        return not self.shows or bool(set(self.shows) & set(evaluation.plot.names()))

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:  # noqa: ARG002 - for those that have something to say
        """Return what the template says, by name.

        Examples
        --------
        >>> from dissensus import Study, evaluate
        >>> result = evaluate(Study.from_counts([[3, 1]], ["a", "b"]), {}, aggregations=["majority-vote"])
        >>> ReportSection().words(ReportSubject(result))
        {}
        """
        return {}

    def charts(self, subject: ReportSubject) -> dict[str, Chart]:
        """Return the figures by name, of the primary metric, as far as they compare anything.

        Examples
        --------
        >>> from dissensus import Study, evaluate
        >>> result = evaluate(Study.from_counts([[3, 1]], ["a", "b"]), {}, aggregations=["majority-vote"])
        >>> class Sizes(ReportSection):
        ...     shows = ("study",)
        >>> list(Sizes().charts(ReportSubject(result)))
        ['study']
        """
        known = subject.plots.names()
        found = {name: subject.plots.chart(name) for name in self.shows if name in known}
        return {name: chart for name, chart in found.items() if chart.compares}

    def data(self, subject: ReportSubject) -> Mapping[str, Any]:  # noqa: ARG002 - for those that the script works on
        """Return what the script of the page works on, by name.

        Examples
        --------
        >>> from dissensus import Study, evaluate
        >>> result = evaluate(Study.from_counts([[3, 1]], ["a", "b"]), {}, aggregations=["majority-vote"])
        >>> ReportSection().data(ReportSubject(result))
        {}
        """
        return {}

    def source(self) -> str:
        """Return the template.

        Examples
        --------
        >>> class Thanks(ReportSection):
        ...     template = "<p>Thank you.</p>"
        >>> Thanks().source()
        '<p>Thank you.</p>'
        """
        if self.template:
            return self.template
        package, _, stem = type(self).__module__.rpartition(".")
        own, of_module = (files(package).joinpath(f"{name}.html.jinja") for name in (self.id, stem))
        return (own if own.is_file() else of_module).read_text(encoding="utf-8")


def sections() -> list[ReportSection]:
    """Return all sections in the order of the page, those of installed packages among them.

    >>> sections()[-1].title
    'Glossary'
    """
    return [kind() for kind in sorted(ReportSection.family.known().values(), key=lambda kind: (kind.place, kind.id))]
