"""``dissensus evaluate``: models against uncertain annotations, in memory or piece by piece."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from dissensus.cli import options, terminal
from dissensus.cli.options import option
from dissensus.cli.terminal import say
from dissensus.core.errors import DissensusError
from dissensus.core.screen import Screen

if TYPE_CHECKING:
    from dissensus.core.files import Source
    from dissensus.core.receipt import Receipt
    from dissensus.evaluation.results import Evaluation
    from dissensus.study.reading import Reading
    from dissensus.study.study import Study

# An address of which a path has taken a slash.
ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/(?!/)")


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Evaluate models beside the annotators, and write a report.

    Models are compared with single annotators, the majority vote, draws of the plausibilities and, where it can be
    estimated, a large panel. Without any model, only the certainty is found.

    Examples
    --------
    dissensus evaluate opinions.csv --predictions A=a.csv --predictions B=b.npz
    dissensus evaluate opinions.csv --predictions A=a.csv --margin 0.05 --called radiologist
    dissensus evaluate opinions.csv --predictions A=a.csv --metric accuracy --categories risks.csv
    """

    file: options.AnnotationFile
    models: Mapping[str, Any]
    out: Annotated[Path, option("Directory to write the results into.")] = Path("results")
    aggregation: options.Aggregations = None
    metric: options.Metrics = None
    categories: options.CategoriesFile = None
    strata: Annotated[
        Path | None,
        option("Table with a case column and columns to group cases by; a column called image holds pictures."),
    ] = None
    truth: Annotated[
        Path | None, option("What is known to be true: one answer per case, read like the opinions of one annotator.")
    ] = None
    protocol: options.ProtocolFile = None
    how: Mapping[str, Any]
    estimates: Mapping[str, Any]
    verdicts: Mapping[str, Any]
    every: Mapping[str, Any]
    paper: options.Paper = False
    calibrate: Annotated[bool, option("Let annotators who are held out choose the reference run.", "--calibrate")] = (
        False
    )
    report: Annotated[bool, option("Write report.html beside the tables.", "--report/--no-report")] = True
    remote_images: options.RemoteImages = False
    pieces: Mapping[str, Any]
    cluster: Mapping[str, Any]
    overwrite: options.OverwriteDirectory = False
    said: Mapping[str, Any]

    def run(self) -> Screen:
        """Evaluate in memory, or piece by piece if it is asked for or files are split or large, and show the result."""
        from dissensus.pieces.inputs import is_large, is_split

        opinions, *models = map(as_given, (self.file, *self.places.values()))
        in_pieces = (
            bool({"shard_size", "resume", "partitioned"} & {*self.pieces})
            or is_split(opinions, columns=options.column_roles(self.said["column"]))
            or any(is_split(place, opinions=False) for place in models)
            or any(map(is_large, [opinions, *models]))
        )
        if in_pieces and self.protocol is not None:
            raise DissensusError("--protocol is for studies in memory", got="a study that is evaluated in pieces")
        return screen_of(self.in_pieces() if in_pieces else self.in_memory(), self.out)

    @property
    def places(self) -> dict[str, Path]:
        """The files of predictions."""
        return options.model_places(self.models)

    @property
    def asked(self) -> dict[str, Any]:
        """What the Python function takes as it is."""
        reference = "calibrated" if self.calibrate else None
        chosen: dict[str, Any] = {
            "aggregations": self.aggregation or None,
            "metrics": self.metric or None,
            "reference": reference,
        }
        chosen["protocol"] = self.protocol
        asked = options.passed_on(**self.how, **self.estimates, **self.verdicts, **chosen)
        return options.as_in_paper(asked, self.every) if self.paper else asked

    @property
    def page(self) -> dict[str, Any] | None:
        """The options of the report, if there is to be one."""
        return {"remote_images": self.remote_images} if self.report else None

    def in_memory(self) -> Evaluation:
        """Read everything, evaluate it, and write the results with what they were made from."""
        from dissensus.certainty.categories import Categories
        from dissensus.core.files import open_source
        from dissensus.core.output import checked_directory_target
        from dissensus.evaluation.evaluator import evaluate as evaluated
        from dissensus.evaluation.request import chosen_aggregations
        from dissensus.evaluation.store import not_results

        files = [self.categories, self.strata]
        inputs = (self.file, self.said["conditions"], *files, self.truth, self.protocol, *self.places.values())
        checked_directory_target(self.out, overwrite=self.overwrite, foreign=not_results, inputs=inputs)
        asked = self.asked
        sweep = asked.pop("sweep", False)
        named = chosen_aggregations(asked["aggregations"], sweep=sweep) if "aggregations" in asked else ()
        reading = options.examine_for(named, self.file, self.said)
        study, sources = reading.study, [reading.source]
        chosen = options.with_every(named or chosen_aggregations(None, study.question, sweep=sweep), self.every)
        models = options.read_models(self.models, study, self.said)
        truth = None if self.truth is None else self.read_truth(study)
        groups, strata = (None if path is None else open_source(path) for path in files)
        known = None if groups is None else Categories.from_source(groups, study.conditions)
        columns = {} if strata is None else labels_in(strata, study.case_names)
        terminal.compile_on_first_use("certainty", "evaluation", aggregations=chosen)
        with executor_of(**self.cluster) as executor, terminal.progress_shown(tells_cost=True) as advance:
            result = evaluated(
                study,
                {name: model.predictions for name, model in models.items()},
                categories=known,
                images=columns.pop("image", None),
                strata=columns,
                truth=None if truth is None else truth.study,
                allow_missing=bool(self.models["allow_missing"]),
                executor=executor,
                advance=advance,
                **{**asked, "aggregations": chosen},
            )
        sources += [model.source for model in models.values()]
        known_true = None if truth is None else truth.source
        sources += [one for one in (groups, strata, known_true) if one is not None]
        hashes = {source.path.name: f"sha256:{source.sha256}" if source.sha256 else "" for source in sources}
        result = replace(result, inputs=hashes)
        write_results(result, self.out, overwrite=self.overwrite, page=self.page)
        return result

    def read_truth(self, study: Study) -> Reading:
        """Read what is known to be true like the opinions of one annotator, with the conditions of the study."""
        from dissensus.evaluation.evaluator import truth_of
        from dissensus.study.reading import examine

        assert self.truth is not None, "asked for"
        reading = examine(
            self.truth,
            {"ratings": "ratings", "checklists": "checklist"}.get(study.kind),
            conditions=study.conditions or None,
            question=cast(Any, study.question) if study.kind == "rankings" else None,
            nothing=self.said["nothing"] if study.kind == "checklists" else None,
            limits=options.limit_sizes(self.said["limit"]),
        )
        options.say_receipt(reading.receipt)
        try:
            truth_of(reading.study, study)
        except DissensusError as error:
            raise error.at(str(self.truth)) from None
        return reading

    def in_pieces(self) -> Evaluation:
        """Evaluate Parquet files piece by piece; the results are written on the way."""
        from dissensus.aggregations.base import available_threads
        from dissensus.evaluation.request import chosen_aggregations
        from dissensus.pieces.evaluation import Watch, evaluate_files

        reading = {
            **options.reading_options(self.said),
            "format": self.said["format"],
            "format_is_given": self.said["format"] is not None,
            "kinds": options.kinds_of_models(self.models),
            "allow_missing": bool(self.models["allow_missing"]),
        }
        asked = self.asked
        wanted = chosen_aggregations(asked.get("aggregations"), sweep=asked.pop("sweep", False))
        chosen = options.with_every(wanted, self.every)
        terminal.compile_on_first_use("certainty", "evaluation", aggregations=chosen)

        def tell(receipts: Sequence[Receipt]) -> None:
            """Tell what was understood of the files of opinions, then of each model."""
            for place, receipt in enumerate(receipts):
                options.say_receipt(receipt, briefly=place > 0)

        watch = Watch(terminal.progress_shown, say, tell, lambda result, place: write_page(result, place, self.page))
        workers, threads = self.cluster["workers"], asked.get("threads")
        with executor_of(**self.cluster) as executor:
            if threads is None and workers is not None:  # those of the machine are shared by its workers
                threads = max(1, available_threads() // workers)
            return evaluate_files(
                as_given(self.file),
                {name: as_given(place) for name, place in self.places.items()},
                self.out,
                reading=reading,
                categories=self.categories,
                strata=None if self.strata is None else as_given(self.strata),
                truth=None if self.truth is None else as_given(self.truth),
                overwrite=self.overwrite,
                executor=executor,
                watch=watch,
                **{**asked, **self.pieces, "aggregations": chosen, "threads": threads},
            )


def labels_in(strata: Source, case_names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Read columns that group cases, aligned to the cases by name."""
    from dissensus.study.tables import labels_of_cases

    if not strata.is_table:
        raise DissensusError("strata must come in a table", expected="CSV, TSV or Parquet", where=str(strata.path))
    try:
        return labels_of_cases(strata.table, case_names)
    except DissensusError as error:
        raise error.at(str(strata.path)) from None


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
    from dissensus.workers import compiled_everywhere, connected, local_cluster

    place = connected(dask) if dask is not None else local_cluster(workers or 1, threads=1)
    with place as client:
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


def screen_of(result: Evaluation, out: Path) -> Screen:
    """Return the first screen, with what calibration found, and where everything is."""
    first, report = result.screen(), out / "report.html"
    found = () if result.calibration is None else result.calibration.sentences[1:2]
    where = f"Report: {report}" if report.exists() else f"Results: {out}"
    look = f"   Cases to look at: dissensus cases {out}" if result.models else ""
    return replace(first, decisions=(*first.decisions, *found), place=f"{where}{look}")
