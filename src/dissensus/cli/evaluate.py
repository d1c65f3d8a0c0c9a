"""``dissensus evaluate``: models against uncertain annotations, in memory or in pieces; ``demo`` on a simulated one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import dissensus as ds
from dissensus.cli import options, terminal
from dissensus.cli.options import option, passed_on
from dissensus.cli.terminal import say
from dissensus.core.errors import DissensusError
from dissensus.core.output import checked_directory_target, directory_written_whole
from dissensus.core.screen import Screen

if TYPE_CHECKING:
    from dissensus.core.receipt import Receipt
    from dissensus.study.reading import Reading

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
    models: options.Models
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
    how: options.How
    estimates: options.Estimates
    verdicts: options.Verdicts
    every: options.Every
    paper: options.Paper = False
    calibrate: Annotated[bool, option("Let annotators who are held out choose the reference run.", "--calibrate")] = (
        False
    )
    report: Annotated[bool, option("Write report.html beside the tables.", "--report/--no-report")] = True
    remote_images: options.RemoteImages = False
    pieces: options.Pieces
    cluster: options.Cluster
    overwrite: options.OverwriteDirectory = False
    said: options.Said

    def run(self) -> Screen:
        """Evaluate in memory, or piece by piece if it is asked for or files are split or large; show what came out."""
        from dissensus.pieces.inputs import is_large, is_split

        opinions, *models = map(as_given, (self.file, *options.model_places(self.models).values()))
        in_pieces = (
            bool({"shard_size", "resume", "partitioned"} & {*self.pieces})
            or is_split(opinions, columns=options.column_roles(self.said))
            or any(is_split(place, opinions=False) for place in models)
            or any(map(is_large, [opinions, *models]))
        )
        result = self.in_pieces() if in_pieces else self.in_memory()
        first, page = result.screen(), self.out / "report.html"
        found = () if result.calibration is None else result.calibration.sentences[1:2]
        where = f"Report: {page}" if page.exists() else f"Results: {self.out}"
        look = f"   Cases to look at: dissensus cases {self.out}" if result.models else ""
        return replace(first, decisions=(*first.decisions, *found), place=f"{where}{look}")

    @property
    def asked(self) -> dict[str, Any]:
        """What the Python function takes as it is."""
        chosen = passed_on(aggregations=self.aggregation or None, metrics=self.metric or None, protocol=self.protocol)
        chosen |= {"reference": "calibrated"} if self.calibrate else {}
        chosen["allow_missing"] = bool(self.models.get("allow_missing"))
        asked = {**self.how, **self.estimates, **self.verdicts, **chosen}
        return options.as_in_paper(asked, self.every) if self.paper else asked

    def in_memory(self) -> ds.Evaluation:
        """Read everything, evaluate it, and write the results with what they were made from."""
        from dissensus.core.files import open_source
        from dissensus.evaluation.request import chosen_aggregations
        from dissensus.evaluation.store import not_results, write_files

        files = (self.file, self.said.get("conditions"), self.categories, self.strata, self.truth, self.protocol)
        inputs = (*files, *options.model_places(self.models).values())
        checked_directory_target(self.out, overwrite=self.overwrite, foreign=not_results, inputs=inputs)
        asked = self.asked
        sweep = asked.pop("sweep", False)
        named = chosen_aggregations(asked["aggregations"], sweep=sweep) if "aggregations" in asked else ()
        reading = options.read(self.file, self.said, named)
        study = reading.study
        chosen = options.with_every(named or chosen_aggregations(None, study.question, sweep=sweep), self.every)
        models = options.read_models(self.models, study, self.said)
        truth = None if self.truth is None else self.read_truth(study)
        groups = None if self.categories is None else open_source(self.categories)
        known = None if groups is None else ds.Categories.from_source(groups, study.conditions)
        strata, columns = options.case_labels(self.strata, study.case_names)
        terminal.compile_on_first_use("certainty", "evaluation", aggregations=chosen)
        with executor_of(**self.cluster) as executor, terminal.progress_shown(tells_cost=True) as advance:
            result = ds.evaluate(
                study,
                {name: model.predictions for name, model in models.items()},
                categories=known,
                images=columns.pop("image", None),
                strata=columns,
                truth=None if truth is None else truth.study,
                executor=executor,
                advance=advance,
                **{**asked, "aggregations": chosen},
            )
        sources = [reading.source, *(model.source for model in models.values()), groups, strata, truth and truth.source]
        hashes = {one.path.name: f"sha256:{one.sha256}" if one.sha256 else "" for one in sources if one is not None}
        result = replace(result, inputs=hashes)
        with directory_written_whole(self.out, overwrite=self.overwrite, foreign=not_results) as place:
            write_files(result, place)
            self.write_page(result, place)
        return result

    def write_page(self, result: ds.Evaluation, place: Path) -> None:
        """Write the report into a directory of results, if there is to be one."""
        if self.report:
            ds.write_report(result, place / "report.html", remote_images=self.remote_images)

    def read_truth(self, study: ds.Study) -> Reading:
        """Read what is known to be true like the opinions of one annotator, with the conditions of the study."""
        from dissensus.core.files import Limits, open_source
        from dissensus.evaluation.evaluator import truth_of
        from dissensus.study.reading import examine_truth
        from dissensus.study.reading.format import Options

        assert self.truth is not None, "asked for"
        limits = Limits.given(options.limit_sizes(self.said))
        said = Options(columns=options.column_roles(self.said), nothing=self.said.get("nothing"), limits=limits)
        source = open_source(self.truth, limits)
        reading = examine_truth(source, study, options=said, ignore=tuple(self.said.get("ignore") or ()))
        options.say_receipt(reading.receipt)
        try:
            truth_of(reading.study, study)
        except DissensusError as error:
            raise error.at(str(self.truth)) from None
        return reading

    def in_pieces(self) -> ds.Evaluation:
        """Evaluate Parquet files piece by piece; the results are written on the way."""
        from dissensus.aggregations.base import available_threads
        from dissensus.evaluation.request import chosen_aggregations
        from dissensus.pieces.evaluation import Watch

        asked, reading = self.asked, options.reading_options(self.said)
        reading |= {"format": self.said.get("format"), "format_is_given": "format" in self.said}
        reading |= {"kinds": options.kinds_of_models(self.models), "allow_missing": asked.pop("allow_missing")}
        wanted = chosen_aggregations(asked.get("aggregations"), sweep=asked.pop("sweep", False))
        chosen = options.with_every(wanted, self.every)
        terminal.compile_on_first_use("certainty", "evaluation", aggregations=chosen)

        def tell(receipts: Sequence[Receipt]) -> None:
            """Tell what was understood of the files of opinions, then of each model."""
            for place, receipt in enumerate(receipts):
                options.say_receipt(receipt, briefly=place > 0)

        watch = Watch(terminal.progress_shown, say, tell, self.write_page)
        workers, threads = self.cluster.get("workers"), asked.get("threads")
        with executor_of(**self.cluster) as executor:
            if threads is None and workers is not None:  # those of the machine are shared by its workers
                threads = max(1, available_threads() // workers)
            return ds.evaluate_files(
                as_given(self.file),
                {name: as_given(place) for name, place in options.model_places(self.models).items()},
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


def as_given(path: Path) -> str:
    """Write a path as the user gave it: addresses have two slashes.

    >>> as_given(Path("s3://store/opinions"))
    's3://store/opinions'
    """
    return ADDRESS.sub(r"\1://", str(path), count=1) if ADDRESS.match(str(path)) else str(path)


@contextmanager
def executor_of(workers: int | None = None, dask: str | None = None) -> Iterator[object | None]:
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


evaluate = options.bundled(Evaluate)


# The demo ----------------------------------------------------------------------------------------------------

# What the demo calls its input; directories of results that name it may be replaced by the next demo.
ORIGIN = "simulated study"


@options.bundled
def demo(
    out: Annotated[Path, option("Directory to write the results into.")] = Path("demo-results"),
    cases: Annotated[int, option("Cases of the simulated study.", min=1)] = 400,
    draws: Annotated[int, option("Draws per case.")] = 1000,
    seed: Annotated[int, option("Same seed, same study and results.", min=0)] = 1,
    paper: options.Paper = False,
    overwrite: options.OverwriteDirectory = False,
) -> Screen:
    """Simulate a study, evaluate five models, write a report.

    The study is one of differential diagnoses. It is simulated, so the truth is known, and stands beside the models.

    The results of an earlier demo are replaced.

    Examples
    --------
    dissensus demo
    dissensus demo --cases 2000 --out larger-demo
    dissensus demo --paper
    """
    from dissensus.evaluation.request import default_aggregations
    from dissensus.evaluation.sentences import with_truth
    from dissensus.evaluation.store import REPORT, not_results, write_files
    from dissensus.simulate.differential_study import simulate_study

    overwrite = overwrite or was_written_by_demo(out)
    checked_directory_target(out, overwrite=overwrite, foreign=not_results)
    study = simulate_study(n_cases=cases, seed=seed)
    asked: dict[str, Any] = {"draws": draws, "seed": seed}
    asked = options.as_in_paper(asked, {}) if paper else {**asked, "aggregations": default_aggregations()}
    kernels = ("certainty", "evaluation", "plackett-luce-ml")
    terminal.compile_on_first_use(*kernels, aggregations=asked["aggregations"])
    known: dict[str, Any] = {"categories": study.categories, "strata": study.strata}
    with terminal.progress_shown() as advance:
        found = ds.evaluate(study.annotations, study.predictions, advance=advance, **known, **asked)
    inputs = {ORIGIN: f"simulate_study(n_cases={cases}, seed={seed})"}
    result = with_truth(replace(found, inputs=inputs), study.truth)
    with directory_written_whole(out, overwrite=overwrite, foreign=not_results) as place:
        write_files(result, place)
        ds.write_report(result, place / REPORT)
    lines = (
        "Next:",
        f"  {Path(sys.executable).name} -m webbrowser {(out / REPORT).absolute().as_uri()}",
        f"  dissensus compare {out}",
        f"  dissensus cases {out}",
        "  dissensus evaluate opinions.csv --predictions A=a.csv",
    )
    first = result.screen()
    return replace(first, title=f"Simulated: {first.title}", place="\n".join(lines))


def was_written_by_demo(out: Path) -> bool:
    """Tell whether a directory holds the results of an earlier demo."""
    try:
        described = json.loads((out / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(described, dict) and ORIGIN in described.get("inputs", {})
