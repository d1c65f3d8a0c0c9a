"""``dissensus evaluate``: models against uncertain annotations, in memory or piece by piece."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from dissensus.cli import options, progress
from dissensus.cli.options import option
from dissensus.cli.terminal import grid, say, show
from dissensus.core.errors import DissensusError

if TYPE_CHECKING:
    from rich.table import Table

    from dissensus.core.files import Source
    from dissensus.core.receipt import Receipt
    from dissensus.evaluation.results import Evaluation
    from dissensus.metrics.base import Metric
    from dissensus.study.reading import Reading
    from dissensus.study.study import Study

# How many rows of results are printed.
MOST_ROWS = 24

# An address of which a path has taken a slash.
ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/(?!/)")


@options.bundled
def evaluate(
    *,
    file: options.AnnotationFile,
    out: Annotated[Path, option("Directory to write the results into.")],
    models: Mapping[str, Any],
    aggregation: options.Aggregations = None,
    metric: options.Metrics = None,
    categories: options.CategoriesFile = None,
    strata: Annotated[
        Path | None,
        option("Table with a case column and columns to group cases by; a column called image holds pictures."),
    ] = None,
    truth: Annotated[
        Path | None,
        option("What is known to be true: one answer per case, read like the opinions of one annotator."),
    ] = None,
    how: Mapping[str, Any],
    estimates: Mapping[str, Any],
    every: Mapping[str, Any],
    calibrate: Annotated[
        bool, option("Let annotators who are held out choose the reference run.", "--calibrate")
    ] = False,
    report: Annotated[bool, option("Write report.html beside the tables.", "--report/--no-report")] = True,
    remote_images: options.RemoteImages = False,
    pieces: Mapping[str, Any],
    cluster: Mapping[str, Any],
    overwrite: options.OverwriteDirectory = False,
    said: Mapping[str, Any],
) -> None:
    """Evaluate models against a large panel, single annotators and draws of the plausibilities, beside one label.

    Without any model, only the certainty is found.

    [bold]Examples[/bold]

      dissensus evaluate opinions.csv --predictions A=a.csv --predictions B=b.npz --out results

      dissensus evaluate opinions.csv --predictions A=a.csv --aggregation plackett-luce:1,3,10 --metric set-accuracy:2
      --categories risks.csv --out results
    """
    reference = "calibrated" if calibrate else None
    asked = options.passed_on(**how, **estimates, metrics=metric or None, reference=reference)
    request = Request(
        file,
        out,
        models=models,
        said=said,
        texts=aggregation or None,
        every=every,
        asked=asked,
        categories=categories,
        strata=strata,
        truth=truth,
        page={"remote_images": remote_images} if report else None,
        overwrite=overwrite,
        cluster=cluster,
    )
    is_large = "shard_size" in pieces or "resume" in pieces or request.is_large
    show_results(request.in_pieces(pieces) if is_large else request.in_memory(), out)


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    Attributes
    ----------
    file, out
        Opinions, and where results go.
    models, said, every, cluster
        Options that belong together: predictions, how opinions are read, what is said of every aggregation, and where
        all is computed.
    texts, asked
        The aggregations, and what the Python function takes as it is.
    categories, strata, truth
        Files beside them.
    page
        Options of the report, if there is to be one.
    """

    file: Path
    out: Path
    models: Mapping[str, Any]
    said: Mapping[str, Any]
    texts: Sequence[str] | None
    every: Mapping[str, Any]
    asked: Mapping[str, Any]
    categories: Path | None
    strata: Path | None
    truth: Path | None
    page: Mapping[str, Any] | None
    overwrite: bool
    cluster: Mapping[str, Any]

    @property
    def places(self) -> dict[str, Path]:
        """The files of predictions."""
        return options.model_places(self.models)

    @property
    def is_large(self) -> bool:
        """Whether files are evaluated piece by piece because they are split or large."""
        from dissensus.pieces import inputs as tables

        opinions, models = as_given(self.file), [as_given(place) for place in self.places.values()]
        is_split = tables.is_split(opinions, columns=options.column_roles(self.said["column"]))
        is_split = is_split or any(tables.is_split(place, opinions=False) for place in models)
        return is_split or any(map(tables.is_large, [opinions, *models]))

    def in_memory(self) -> Evaluation:
        """Read everything, evaluate it, and write the results with what they were made from."""
        from dissensus.certainty.categories import Categories
        from dissensus.core.files import open_source
        from dissensus.core.output import checked_directory_target
        from dissensus.evaluation.evaluator import chosen_aggregations
        from dissensus.evaluation.evaluator import evaluate as evaluated
        from dissensus.evaluation.store import not_results

        files = [self.categories, self.strata]
        inputs = (self.file, self.said["conditions"], *files, self.truth, *self.places.values())
        checked_directory_target(self.out, overwrite=self.overwrite, foreign=not_results, inputs=inputs)
        named = chosen_aggregations(self.texts) if self.texts else ()
        reading = options.examine_for(named, self.file, self.said)
        study = reading.study
        chosen = options.with_every(named or chosen_aggregations(None, study), self.every)
        models = options.read_models(self.models, study, self.said)
        known_true = None if self.truth is None else read_truth(self.truth, study, self.said)
        beside = {path: open_source(path) for path in files if path is not None}
        known = None if self.categories is None else Categories.from_source(beside[self.categories], study.conditions)
        columns = {} if self.strata is None else read_strata(beside[self.strata], study.case_names)
        progress.compile_on_first_use("certainty", "evaluation", aggregations=chosen)
        with executor_of(**self.cluster) as executor, progress.shown(tells_cost=True) as advance:
            result = evaluated(
                study,
                {name: model.predictions for name, model in models.items()},
                aggregations=chosen,
                categories=known,
                images=columns.pop("image", None),
                strata=columns,
                truth=None if known_true is None else known_true.study,
                allow_missing=bool(self.models["allow_missing"]),
                executor=executor,
                advance=advance,
                **self.asked,
            )
        sources = [reading.source, *(model.source for model in models.values()), *beside.values()]
        sources += [] if known_true is None else [known_true.source]
        hashes = {source.path.name: f"sha256:{source.sha256}" if source.sha256 else "" for source in sources}
        result = replace(result, inputs=hashes)
        write_results(result, self.out, overwrite=self.overwrite, page=self.page)
        return result

    def in_pieces(self, pieces: Mapping[str, Any]) -> Evaluation:
        """Evaluate Parquet files piece by piece; the results are written on the way."""
        from dissensus.aggregations.base import available_threads
        from dissensus.evaluation.evaluator import chosen_aggregations
        from dissensus.pieces.evaluation import Watch, evaluate_files

        reading = {
            **options.reading_options(self.said),
            "format": self.said["format"],
            "format_is_given": self.said["format"] is not None,
            "kinds": options.kinds_of_models(self.models),
            "allow_missing": bool(self.models["allow_missing"]),
        }
        chosen = options.with_every(chosen_aggregations(self.texts), self.every)
        progress.compile_on_first_use("certainty", "evaluation", aggregations=chosen)

        def tell(receipts: Sequence[Receipt]) -> None:
            """Tell what was understood of the files of opinions, then of each model."""
            options.say_receipt(receipts[0])
            for receipt in receipts[1:]:
                options.say_receipt_of_model(receipt)

        watch = Watch(
            progress.shown,
            lambda line: say(line, stderr=True),
            tell,
            lambda result, place: write_page(result, place, self.page),
        )
        workers, threads = self.cluster["workers"], self.asked.get("threads")
        with executor_of(**self.cluster) as executor:
            if threads is None and workers is not None:  # those of the machine are shared by its workers
                threads = max(1, available_threads() // workers)
            return evaluate_files(
                as_given(self.file),
                {name: as_given(place) for name, place in self.places.items()},
                self.out,
                reading=reading,
                aggregations=chosen,
                categories=self.categories,
                strata=None if self.strata is None else as_given(self.strata),
                truth=None if self.truth is None else as_given(self.truth),
                overwrite=self.overwrite,
                executor=executor,
                watch=watch,
                **{**self.asked, **pieces, "threads": threads},
            )


def read_truth(file: Path, study: Study, said: Mapping[str, Any]) -> Reading:
    """Read what is known to be true like the opinions of one annotator, with the conditions of the study."""
    from dissensus.evaluation.evaluator import truth_of
    from dissensus.study.reading import examine

    reading = examine(
        file,
        {"ratings": "ratings", "checklists": "checklist"}.get(study.kind),
        conditions=study.conditions or None,
        question=cast(Any, study.question) if study.kind == "rankings" else None,
        nothing=said["nothing"] if study.kind == "checklists" else None,
        limits=options.limit_sizes(said["limit"]),
    )
    options.say_receipt(reading.receipt)
    try:
        truth_of(reading.study, study)
    except DissensusError as error:
        raise error.at(str(file)) from None
    return reading


def read_strata(source: Source, case_names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Read columns that group cases, aligned to the cases by name."""
    from dissensus.study.tables import labels_of_cases

    if not source.is_table:
        raise DissensusError("strata must come in a table", expected="CSV, TSV or Parquet", where=str(source.path))
    try:
        return labels_of_cases(source.table, case_names)
    except DissensusError as error:
        raise error.at(str(source.path)) from None


# Large studies ------------------------------------------------------------------------------------------


def as_given(path: Path) -> str:
    """Write a path as the user gave it: addresses have two slashes.

    >>> as_given(Path("s3://store/opinions"))
    's3://store/opinions'
    """
    return ADDRESS.sub(r"\1://", str(path), count=1) if ADDRESS.match(str(path)) else str(path)


@contextmanager
def executor_of(workers: int | None, dask: str | None) -> Iterator[object | None]:
    """Give what runs pieces: nothing for this process, or a client of a cluster whose kernels are compiled."""
    if workers is None and dask is None:
        yield None
        return
    if workers is not None and dask is not None:
        raise DissensusError("--workers and --dask are both given", advice="give one of them")
    if workers is not None and workers < 1:
        raise DissensusError("--workers must be a number from 1", got=str(workers))
    from dissensus.compilation import compile_missing
    from dissensus.workers import check_versions, compiled_everywhere, connected, local_cluster

    place = connected(dask) if dask is not None else local_cluster(workers or 1, threads=1)
    with place as client:
        check_versions(client)
        compiled_everywhere(client, compile_missing)
        yield client


# What came out -----------------------------------------------------------------------------------------------


def write_results(result: Evaluation, out: Path, *, overwrite: bool, page: Mapping[str, Any] | None = None) -> None:
    """Write the directory of results, with its report if its options are given, whole or not at all."""
    from dissensus.core.output import directory_written_whole
    from dissensus.evaluation.store import not_results, write_files

    with directory_written_whole(out, overwrite=overwrite, foreign=not_results) as place:
        write_files(result, place)
        write_page(result, place, page)


def write_page(result: Evaluation, place: Path, page: Mapping[str, Any] | None) -> None:
    """Write the report into a directory of results, if its options are given."""
    if page is not None:
        from dissensus.evaluation.store import REPORT
        from dissensus.report.page import write_report

        write_report(result, place / REPORT, **page)


def show_results(result: Evaluation, out: Path) -> None:
    """Print the tables, the headline, what to beware of, and where everything is."""
    if result.models:
        show(summary_table(result))
        for note in left_out(result):
            say(f"  not in this table: {note}")
        show(practice_table(result))
    say(repr(result))
    if result.calibration is not None:
        for sentence in result.calibration.sentences[1:]:
            say(f"  {sentence}")
    for warning in result.warnings:
        say(f"  ! {warning}")
    rows = f"all {len(result.runs)} aggregations are in summary.json; " if len(result.runs) > 1 else ""
    report = out / "report.html"
    seen = f"{rows}open {report} in a browser" if report.exists() else rows.rstrip("; ")
    say(f"-> {out}" + (f" ({seen})" if seen else ""))


def summary_table(result: Evaluation) -> Table:
    """Show every model and metric by every estimand, adjusted in the reference run, with intervals."""
    from dissensus.evaluation.practices import side_by_side

    shown = {metric.name for metric in shown_metrics(result)}
    found = [one for one in side_by_side(result, result.to_frame()) if one.metric.name in shown]
    names = shown_estimands(result)
    between = "\n" if len(names) > 2 else " "  # so that it fits 80 columns
    rows = [(one.model, one.metric.name, *(estimated(getattr(one, name), between) for name in names)) for one in found]
    told = list(names.values())
    title = f"{', '.join(told[:-1])} and {told[-1]}; {100 * result.level:g} % intervals"
    return grid(("model", "metric", *names), rows, numbers=len(names), title=title)


def shown_metrics(result: Evaluation) -> tuple[Metric, ...]:
    """Choose the metrics of the table: all, or the first ones, so that it fits a screen."""
    return result.metrics[: max(1, MOST_ROWS // max(1, len(result.models)))]


def left_out(result: Evaluation) -> list[str]:
    """Say which rows the table does not show, and where they are."""
    n_hidden = len(result.metrics) - len(shown_metrics(result))
    hidden = [] if not n_hidden else [f"{n_hidden} more metric{'s' * (n_hidden > 1)}: summary.json"]
    n_findings = len(result.asked_findings)
    apart = [] if not n_findings else [f"the {n_findings} findings one by one: report.html, by_group('finding')"]
    return [*hidden, *apart] if result.models else []


def shown_estimands(result: Evaluation) -> dict[str, str]:
    """Name the estimands that tables show, panel and adjusted if there are any, with what they compare with."""
    adjusted = f"adjusted under {result.run_label(result.reference)}" if result.adjusted_runs else ""
    words = {
        "panel": "against a large panel" if result.panel is not None else "",
        "agreement": "agreement with single annotators",
        "adjusted": adjusted,
    }
    return {name: told for name, told in words.items() if told}


def estimated(row: Mapping[str, Any] | None, between: str = " ") -> str:
    """Write a value with its interval, or a dash where there is none.

    >>> estimated({"mean": 0.5, "low": 0.25, "high": 0.75})
    '0.500 [0.250, 0.750]'
    """
    from dissensus.evaluation.words import NOTHING, number, value

    if row is None:
        return NOTHING
    if row["low"] != row["low"]:
        return value(row["mean"])
    return f"{number(row['mean'])}{between}[{number(row['low'])}, {number(row['high'])}]"


def practice_table(result: Evaluation) -> Table:
    """Show the first metric of every model as each practice reports it, beside all estimands."""
    from dissensus.evaluation.sentences import leading
    from dissensus.evaluation.words import number

    found = leading(result, result.to_frame())
    known = ["truth"] if found[0].truth is not None else []
    estimands = shown_estimands(result)
    rows = [
        (
            one.model,
            *(number((getattr(one, name) or {}).get("mean")) for name in estimands),
            *map(number, one.practices.values()),
            *(number(one.truth) for _ in known),
        )
        for one in found
    ]
    practices = (
        name.replace("Plackett-Luce maximum likelihood", "PL ML") for name in found[0].practices
    )  # so that it fits 80 columns
    names = ("model", *estimands, *practices, *known)
    under = f"; {estimands['adjusted']}" if "adjusted" in estimands else ""
    short = "; PL ML: Plackett-Luce maximum likelihood" if "PL ML" in names else ""
    title = f"{found[0].metric.name} by every practice{under}{short}"
    note = f"; truth: known here, {found[0].truth_reason}" if known else ""
    return grid(names, rows, numbers=len(names) - 1, title=title + note)
