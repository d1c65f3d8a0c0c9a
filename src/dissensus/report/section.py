"""What a section of the report is: an id, a title, a place among the others, words, pictures and a template.

Pictures are drawn when the page is written: it needs no plotting library, and is complete without any script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from markupsafe import Markup

from dissensus.core.spec import Family, Registered

if TYPE_CHECKING:
    from dissensus.evaluation.plots import Plots, Tables
    from dissensus.evaluation.results import Evaluation
    from dissensus.figures.charts import Chart

# How many cases the explorer holds; of larger studies, the most uncertain ones.
EXPLORER_CASES = 2000


class Picture(NamedTuple):
    """A figure, and the same for other metrics, which are seen on request."""

    name: str
    charts: tuple[Chart, ...]

    def drawings(self) -> list[tuple[Chart, Markup]]:
        """Return every chart with its drawing, an SVG that is safe in a page."""
        from dissensus.figures.vega import svg

        return [(chart, Markup(svg(chart, f"{self.name}-{place}"))) for place, chart in enumerate(self.charts)]


def shown_runs(evaluation: Evaluation, *, first: int | None = None) -> list[int]:
    """Choose the runs that can be looked at: the reference, and the middle run of every other aggregation.

    ``first`` is the one that is seen first; by default the reference.
    """
    own = evaluation.runs[evaluation.reference].aggregation
    sweeps: dict[str, list[int]] = {}
    for run, one in enumerate(evaluation.runs):
        sweeps.setdefault(one.aggregation, []).append(run)
    found = [evaluation.reference, *(runs[len(runs) // 2] for name, runs in sweeps.items() if name != own)]
    return sorted(found, key=lambda run: run != first)


def picture(name: str, plots: Plots) -> Picture:
    """Make the chart of this name, of every metric if it is about one."""
    from dissensus.evaluation.plots import found_figure

    is_measured = "metric" in found_figure(name).options
    metrics = [one.name for one in plots.evaluation.metrics] if is_measured else [None]
    return Picture(name, tuple(plots.chart(name, metric=metric) for metric in metrics))


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
        The figures that it shows, by their names in ``dissensus plot RESULTS --list``.
    template
        A Jinja template: it knows the :meth:`words`, ``figures`` (all pictures, drawn), ``evaluation``, ``reference``
        (the label of the reference run), ``term(word)`` and ``counted(number, noun)``, and names in it are escaped.
        If there is none, it is the file beside the module that is called like the id, or like the module, and ends in
        ``.html.jinja``.
    is_wide
        Whether it takes the whole width of the page.
    looks_at_cases
        Whether it shows single cases, or what is found from them: of a study larger than memory these are a sample, and
        the page says so.

    Examples
    --------
    >>> [section.id for section in sections()][:3]
    ['summary', 'data', 'certainty']
    >>> ReportSection.family.find("risk").shows
    ('risk', 'category_metrics')
    """

    family: ClassVar[Family[ReportSection]] = Family(
        "report section", "dissensus.report.sections", "dissensus.sections"
    )

    title: ClassVar[str] = ""
    place: ClassVar[float] = 75
    shows: ClassVar[tuple[str, ...]] = ()
    template: ClassVar[str] = ""
    is_wide: ClassVar[bool] = False
    looks_at_cases: ClassVar[bool] = False

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether there is something to say: by default, whether any of the figures can be drawn.

        Examples
        --------
        >>> from dissensus import Study, evaluate
        >>> result = evaluate(Study.from_counts([[3, 1]], ["a", "b"]), {}, aggregations=["majority-vote"])
        >>> {section.id: section.has(result) for section in sections() if section.id in ("certainty", "risk")}
        {'certainty': True, 'risk': False}
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

    def pictures(self, subject: ReportSubject) -> Iterable[Picture]:
        """Draw the figures, those about metrics for every metric.

        Examples
        --------
        >>> from dissensus import Study, evaluate
        >>> result = evaluate(Study.from_counts([[3, 1]], ["a", "b"]), {}, aggregations=["majority-vote"])
        >>> class Sizes(ReportSection):
        ...     shows = ("study",)
        >>> len(Sizes().pictures(ReportSubject(result)))
        1
        """
        known = subject.plots.names()
        return [picture(name, subject.plots) for name in self.shows if name in known]

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
