"""Every option, declared once: its name, type and words; where none is given, the Python function says what holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer

import dissensus as ds
from dissensus.cli.terminal import compile_on_first_use, messages, say, show
from dissensus.core.errors import DissensusError, known_name, suggestion
from dissensus.core.output import TABLE_WRITERS, checked_file_target, table_writer, written_whole

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.receipt import Receipt
    from dissensus.core.screen import Screen
    from dissensus.plugins import Aggregation
    from dissensus.predictions.reader import PredictionReading
    from dissensus.study.reading import Reading

# What was given of options that belong together, and what a command returns whose rows can be written to a file.
Given: TypeAlias = Mapping[str, Any]
ScreenAndRows: TypeAlias = "tuple[Screen, pl.DataFrame]"

INPUT, MODEL, COMPARED, SCALE = "What to read", "The aggregation", "What to compare", "Large studies"


def option(text: str, *names: str, panel: str | None = None, metavar: str | None = None, **more: Any) -> Any:
    """Declare an option by its words; files are opened later, which says more than typer would."""
    return typer.Option(*names, help=text, rich_help_panel=panel, metavar=metavar, readable=False, **more)


def argument(text: str, metavar: str, **more: Any) -> Any:
    """Declare an argument by its words."""
    return typer.Argument(help=text, metavar=metavar, readable=False, **more)


AnnotationFile = Annotated[
    Path, argument("Annotations: CSV, TSV, Parquet, JSON, JSON lines, PrefLib, a directory.", "FILE")
]
ResultsDirectory = Annotated[Path, argument("Directory that `dissensus evaluate` wrote.", "RESULTS")]
Overwrite = Annotated[bool, option("Replace the file if it exists; never an input.", "--overwrite")]
OverwriteDirectory = Annotated[
    bool, option("Replace earlier results; never a directory that holds anything else.", "--overwrite")
]

Aggregations = Annotated[
    list[str] | None,
    option(
        "An aggregation and its reliabilities, with parameters such as plackett-luce:1:prior=informed, in the place of "
        "the usual ones. Repeat as needed.",
        "--aggregation",
        metavar="NAME:1,2,3",
    ),
]
Metrics = Annotated[
    list[str] | None, option("A metric, e.g. top-k-accuracy:3. Repeat as needed.", "--metric", metavar="NAME:K")
]
MetricName = Annotated[str | None, option("A metric, by its name in the results.", "--metric")]
CategoriesFile = Annotated[
    Path | None,
    option(
        "Categories such as risks: one per line in the order of conditions, or a table with the columns condition and "
        "category.",
        panel=COMPARED,
    ),
]
Paper = Annotated[
    bool, option("Evaluate as Stutz et al. do: their aggregations, prior and metrics, which lead; no panel.", "--paper")
]
ShowAll = Annotated[bool, option("Show everything, however long it is.", "--all")]
ProtocolFile = Annotated[
    Path | None, option("What was decided before the data were seen; `dissensus protocol` writes a file to fill in.")
]
RemoteImages = Annotated[bool, option("Let the report load images of cases from the network.", "--remote-images")]


def bundle(panel: str | None = None, /, **rows: tuple[Any, ...]) -> dict[str, Any]:
    """Declare options that belong together: type, words and, where its type says too little, what a value is.

    A switch has no value, and its opposite only if both names are given. A command that has a parameter with such an
    annotation takes what was given of them, as a mapping; for the rest, the Python function says what holds.
    """
    found = {}
    for name, (kind, text, *rest) in rows.items():
        told = rest[0] if rest else None
        if kind is bool:
            own = option(text, told or f"--{name.replace('_', '-')}", panel=panel, show_default=False)
        else:
            own = option(text, panel=panel, metavar=told)
        found[name] = Annotated[kind | None, own]
    return found


# What a user can say about a file of opinions.
READING = bundle(
    INPUT,
    format=(str, "Name of the format, if it is not recognised."),
    conditions=(Path, "File with the names of all conditions, one per line, in order."),
    column=(list[str], "Which column is which, e.g. case=image. Repeat as needed.", "ROLE=NAME"),
    case=(str, "The column that names the cases; row-number numbers the rows.", "NAME"),
    ignore=(
        list[str],
        "A column of the opinions to leave out, and of predictions and truth that have it. Repeat as needed.",
        "COLUMN",
    ),
    only=(list[str], "Rows to read, by the value of a column, e.g. modality=MRI. Repeat as needed.", "COLUMN=VALUE"),
    sheet=(str, "The sheet of a spreadsheet, where several hold anything.", "NAME"),
    tie_separator=(str, "Text between tied conditions in one cell, e.g. '|'."),
    bucket_order=(str, "Ranked groups, best first, comma-separated (Label Studio)."),
    unranked=(str, "What not being mentioned means: below (default) or unobserved."),
    duplicates=(str, "A condition mentioned again in a ranking: refuse (default), keep the first, or the best."),
    confidence=(str, "What confidences do: order conditions (default), or share one vote among them."),
    lists=(str, "What lists of labels are: votes of several annotators, or the order or the tie of one."),
    nothing=(str, "The name that says that nothing was found (--format checklist).", "NAME"),
    question=(
        str,
        "What annotators were asked: which conditions, whether the positive of two holds, or which grade.",
        "conditions|binary|grades",
    ),
    positive=(
        str,
        "The positive one of two conditions: annotators were asked for it, and a model's file of one number per case "
        "holds its probability.",
        "NAME",
    ),
    limit=(list[str], "What a file may ask for, e.g. columns=200000 or memory=32GB. Repeat as needed.", "NAME=SIZE"),
)

PRIOR = (str, "Prior of conditions: observed, symmetric, frequency, or informed by the models of dissensus evaluate.")
THRESHOLDS = (str, "Cut ratings into conditions here, comma-separated; by itself at their median.")

# An aggregation and its parameters.
SPEC = bundle(
    MODEL,
    aggregation=(str, "How opinions become plausibilities: plackett-luce by itself, normal-inverse-gamma for ratings."),
    reliability=(float, "How much to trust annotators; larger is more."),
    alpha=(str, "Prior mass of each condition, or fitted."),
    prior=PRIOR,
    scale=(str, "Concentration of PrIRN: per case or annotator."),
    ties=(str, "Weight of tied conditions in IRN: shared or each."),
    chains=(int, "Chains of the sampler."),
    warmup=(int, "Sweeps that each chain throws away."),
    tempered=(bool, "Race at plausibilities to the power of the reliability."),
    thresholds=THRESHOLDS,
)

# What is said of every aggregation that has such a parameter.
EVERY = bundle(MODEL, prior=PRIOR, thresholds=THRESHOLDS)

# How much is drawn.
HOW = bundle(
    draws=(int, "Draws per case."),
    seed=(int, "Same seed, same draws."),
    threads=(int, "Threads; all processors by default."),
)

# What the models said.
MODELS = bundle(
    predictions=(
        list[str],
        "A model's predictions; = and / in the name are written \\= and \\/. Repeat as needed.",
        "NAME=FILE",
    ),
    kind=(
        list[str],
        "What a model's predictions are where the file leaves a doubt: scores, ranking, set or numbers. Without a "
        "name, those of all models. Repeat as needed.",
        "NAME=KIND",
    ),
    allow_missing=(bool, "Leave out the cases that some model lacks."),
)

# What is estimated.
ESTIMATES = bundle(
    sweep=(
        bool,
        "Evaluate against other aggregations and reliabilities as well, to see how far results depend on them; ten "
        "runs in the place of one.",
    ),
    primary=(str, "The metric that verdicts are about; the first by itself. Others are secondary.", "NAME"),
    annotators=(
        str,
        "Whether intervals allow for other annotators like these; a sample if they are named and crossed.",
        "sample|fixed",
    ),
    panel=(
        bool,
        "Whether to estimate what a large panel of such annotators would say, by a prior that models inform; by itself "
        "with 100 annotated cases and two opinions per case.",
        "--panel/--no-panel",
    ),
)

# What models beside annotators are judged by.
VERDICTS = bundle(
    level=(float, "Probability that intervals hold."),
    trained_on=(
        list[str],
        "A model that was trained on these annotations: it is evaluated without a verdict, and does not inform the "
        "panel estimate. Repeat as needed.",
        "NAME",
    ),
    margin=(float, "How much worse than one annotator a model may be to count as non-inferior."),
    called=(str, "What an annotator is called, such as radiologist.", "NAME"),
)

# How studies larger than memory are evaluated.
PIECES = bundle(
    SCALE,
    shard_size=(
        int,
        "Evaluate Parquet files in pieces of so many cases; by itself 10 000 for directories and large files. It "
        "changes memory, speed, and the last digits of numbers.",
        "CASES",
    ),
    partitioned=(
        bool,
        "Files are partitioned by case: the first of every input is about the same cases, and so on. They are not "
        "split then.",
    ),
    scratch=(
        str,
        "Where workers keep pieces and tables by case: a directory that all of them see, or an address such as "
        "s3://bucket/scratch; by default --out.",
        "PLACE",
    ),
    resume=(bool, "Go on with an interrupted run of Parquet files, or add files that came since."),
    learn_again=(
        bool,
        "With added files, learn frequencies and priors from all cases again; computes all pieces again.",
    ),
)

# Where it is computed.
CLUSTER = bundle(
    SCALE,
    workers=(int, "Processes on this machine (extra dask).", "N"),
    dask=(str, "Scheduler of a Dask cluster that runs already.", "ADDRESS"),
)


def _show_all_options(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta["all"] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


# How results are printed.
OUTPUT = bundle(json=(bool, "Print the result as JSON."), quiet=(bool, "Print no messages: only results and errors."))
OUTPUT["help_all"] = Annotated[
    bool | None,
    option("Show all options and exit.", "--help-all", is_eager=True, callback=_show_all_options, show_default=False),
]

# What commands take of them.
Said = Annotated[Given, READING]
Spec = Annotated[Given, SPEC]
Every = Annotated[Given, EVERY]
How = Annotated[Given, HOW]
Models = Annotated[Given, MODELS]
Estimates = Annotated[Given, ESTIMATES]
Verdicts = Annotated[Given, VERDICTS]
Pieces = Annotated[Given, PIECES]
Cluster = Annotated[Given, CLUSTER]


def bundled(command: Callable[..., Any], *, out: str | None = None, is_table: bool = False) -> Callable[..., None]:
    """Let a command take the options of a bundle as one mapping of what was given, and print its result.

    A command is a function, or a class whose fields are its options and whose ``run`` does it; it returns a screen, or
    a screen and rows (:func:`with_rows`).
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    bundles = {one.name: kinds for one in own for kinds in get_args(one.annotation)[1:] if isinstance(kinds, dict)}
    has_rows, named = out is not None, {one.name for one in own}
    file = {"out": Annotated[Path | None, option(out or "")], "overwrite": Overwrite} if has_rows else {}
    file = {name: kind for name, kind in file.items() if name not in named}

    @wraps(command, updated=())
    def expanded(*, json: bool | None = None, quiet: bool | None = None, **given: Any) -> None:
        given.pop("help_all", None)
        messages.set(not quiet)
        written = {name: given.pop(name) if name in file else given.get(name) for name in ("out", "overwrite")}
        target, overwrite = written["out"] if has_rows else None, bool(written["overwrite"])
        taken = {name: passed_on(**{option: given.pop(option) for option in kinds}) for name, kinds in bundles.items()}
        if target is not None:
            check_target(target, overwrite, given, taken, is_table=is_table)
        made = command(**given, **taken)
        found: Screen
        rows: Any
        found, rows = made if has_rows else (made.run() if hasattr(made, "run") else made, None)
        if target is not None:
            with written_whole(target, overwrite=overwrite) as temporary:
                TABLE_WRITERS.get(target.suffix.lower(), TABLE_WRITERS[".csv"])(rows, temporary)
            found = replace(found, place=f"-> {target}")
        show(found, as_json=bool(json))

    keyword = inspect.Parameter.KEYWORD_ONLY
    parts = {one.name: [one.replace(kind=keyword)] for one in own}
    for name, kinds in {**bundles, "written": file, "printed": OUTPUT}.items():
        parts[name] = [inspect.Parameter(one, keyword, default=None, annotation=kind) for one, kind in kinds.items()]
    found = [one for options in parts.values() for one in options]
    expanded.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]  # what typer looks at
    expanded.__annotations__ = {one.name: one.annotation for one in found}
    return expanded


def with_rows(out: str, *, is_table: bool = False) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Let a command that returns a screen and rows write them to a file, ``--out``, which is CSV unless it says more.

    Where the file ``is_table``, its ending must be that of a table. A command that has parameters ``out`` and
    ``overwrite`` of its own is told them too.
    """
    return partial(bundled, out=out, is_table=is_table)


def check_target(target: Path, overwrite: bool, given: Given, taken: Given, *, is_table: bool = False) -> None:
    """Refuse a file that cannot be written, or that a command reads, before anything is computed."""
    if is_table:
        table_writer(target)
    inputs = [one for name, one in given.items() if isinstance(one, Path) and name != "out"]
    if "results" in given:
        from dissensus.evaluation.store import FILES

        inputs = [given["results"] / name for name in FILES]
    inputs += [one for kinds in taken.values() for one in kinds.values() if isinstance(one, Path)]
    inputs += model_places(taken.get("models", {})).values()
    checked_file_target(target, overwrite=overwrite, inputs=inputs)


def passed_on(**given: Any) -> dict[str, Any]:
    """Keep what was given: for the rest, the Python function has its defaults.

    >>> passed_on(draws=100, seed=None)
    {'draws': 100}
    """
    return {name: value for name, value in given.items() if value is not None}


# Arguments of the Python function whose options have other names.
OPTIONS = {"aggregations": "--aggregation", "metrics": "--metric", "reference": "--calibrate"}


def as_in_paper(asked: Given, every: Given) -> dict[str, Any]:
    """Add the settings of the paper to what is asked for; refuse options that contradict them.

    >>> as_in_paper({"draws": 500, "panel": False}, {})["leads"]
    'adjusted'
    """
    given, fixed = {**asked, **every}, {**ds.paper(), **dict.fromkeys(("sweep", "reference", "prior", "thresholds"))}
    against = [OPTIONS.get(name, f"--{name}") for name in fixed if name in given and given[name] != fixed[name]]
    if against:
        both = " and ".join(against)
        expected = "--paper alone: it settles aggregations, prior, metrics, annotators and panel"
        raise DissensusError(f"--paper contradicts {both}", expected=expected, advice=f"leave out --paper or {both}")
    return {**asked, **ds.paper()}


# Reading -------------------------------------------------------------------------------------------------

ROLES = (
    *("case", "annotator", "annotator_group", "annotation", "condition", "finding", "present", "rank", "confidence"),
    *("score", "weight", "votes", "count", "group", "case_weight"),
)


def column_roles(said: Given) -> dict[str, str | None]:
    """Turn ``ROLE=NAME`` into a mapping, with the column of cases where it is said.

    >>> column_roles({"column": ["annotator=reader"], "case": "image"})
    {'annotator': 'reader', 'case': 'image'}
    """
    roles: dict[str, str | None] = {}
    for column in [*(said.get("column") or ()), *([f"case={said['case']}"] if said.get("case") else ())]:
        role, equals, name = column.partition("=")
        if not equals or role not in ROLES:
            expected, advice = f"ROLE=NAME with one of the roles {', '.join(ROLES)}", suggestion(role, ROLES)
            raise DissensusError("--column is not understood", expected=expected, got=repr(column), advice=advice)
        roles[role] = name
    return roles


def limit_sizes(said: Given) -> dict[str, int | str]:
    """Turn ``NAME=SIZE`` into a mapping.

    >>> limit_sizes({"limit": ["columns=200000", "memory=32GB"]})
    {'columns': '200000', 'memory': '32GB'}
    """
    return dict(limit.partition("=")[::2] for limit in said.get("limit") or ())


def reading_options(said: Given) -> dict[str, Any]:
    """Return how opinions are read, as the options of the command line say."""
    found = {name: value for name, value in said.items() if name not in ("format", "column", "case", "limit")}
    found |= {"columns": column_roles(said), "ignore": tuple(said.get("ignore") or ()), "limits": limit_sizes(said)}
    found["only"] = dict(one.partition("=")[::2] for one in said.get("only") or ())
    if "conditions" in said:
        from dissensus.core.files import checked_path, read_text

        place = checked_path(said["conditions"])
        if place.is_dir():
            raise DissensusError("the list of conditions is a directory", expected="a file", where=str(place))
        found["conditions"] = tuple(line.strip() for line in read_text(place).splitlines() if line.strip())
        if not found["conditions"]:
            raise DissensusError("the list of conditions is empty", where=str(place))
    if "bucket_order" in said:
        found["bucket_order"] = tuple(name.strip() for name in said["bucket_order"].split(","))
    return found


def examine(file: Path, said: Given, aggregations: Sequence[Aggregation] = ()) -> Reading:
    """Read what aggregations need; a table of numbers is one of ratings if that is what they take."""
    only_ratings = aggregations and all(spec.needs == "ratings" for spec in aggregations)
    return ds.examine(file, said.get("format", "ratings" if only_ratings else None), **reading_options(said))


def read(file: Path, said: Given, aggregations: Sequence[Aggregation] = ()) -> Reading:
    """Read opinions, and tell what was understood of them."""
    reading = examine(file, said, aggregations)
    say_receipt(reading.receipt)
    return reading


def read_for(spec: Given, file: Path, said: Given) -> tuple[ds.Study, Aggregation]:
    """Read opinions, and make the aggregation that is asked for, or the one that their kind usually has.

    Its parameters are those of its text, and those that were given beside it.
    """
    from dissensus.core.spec import one_spec

    is_known = "aggregation" in spec or "thresholds" in spec
    study = None if is_known else read(file, said).study
    kind = study.kind if study is not None else "ratings" if "thresholds" in spec else "rankings"
    usual = "normal-inverse-gamma" if kind == "ratings" else "plackett-luce"
    named = [f"{name}={value}" for name, value in spec.items() if name != "aggregation"]
    chosen = one_spec(ds.plugins.Aggregation.family, ":".join([spec.get("aggregation") or usual, *named]))
    return read(file, said, [chosen]).study if study is None else study, chosen


def with_every(chosen: Sequence[Aggregation], every: Given) -> tuple[Aggregation, ...]:
    """Give thresholds to all aggregations, which must be of ratings, and a prior to those that have one."""
    from dissensus.core.spec import read_parameter
    from dissensus.evaluation.request import with_prior

    if "thresholds" in every:
        cuts = [read_parameter(type(spec), "thresholds", every["thresholds"], "--thresholds") for spec in chosen]
        pairs = zip(chosen, cuts, strict=True)
        chosen = [type(spec).from_parameters({**spec.parameters(), "thresholds": cut}) for spec, cut in pairs]
    return with_prior(chosen, every["prior"]) if "prior" in every else tuple(chosen)


def model_places(models: Given) -> dict[str, Path]:
    """Return the files of predictions, by the name of the model."""
    from dissensus.predictions.reader import named_paths

    return named_paths(models.get("predictions") or [])


def kinds_of_models(models: Given) -> dict[str, Any]:
    """Return what the predictions of models are, as far as it is said: ``KIND`` alone is that of every other model.

    >>> kinds_of_models({"predictions": ["A=a.csv", "B=b.csv"], "kind": ["set", "A=scores"]})
    {'A': 'scores', 'B': 'set'}
    """
    kinds, names = {}, tuple(model_places(models))
    for text in models.get("kind") or []:
        name, _, kind = text.rpartition("=")
        kinds[known_name("model", name, names, purpose="for --kind") if name else name] = kind
    return {name: kinds.get(name, kinds.get("")) for name in names if name in kinds or "" in kinds}


def read_models(models: Given, study: ds.Study, said: Given) -> dict[str, PredictionReading]:
    """Read the predictions of models, and tell what was understood of each, and what it does not score."""
    from dissensus.predictions.lists import coverage
    from dissensus.predictions.reader import examine_predictions

    kinds = kinds_of_models(models)
    readings = {
        name: examine_predictions(
            place,
            name=name,
            conditions=study.conditions or None,
            cases=study.case_names,
            findings=study.kind == "checklists",
            binary=study.question == "binary",
            kind=kinds.get(name),
            columns=column_roles(said),
            positive=said.get("positive"),
            allow_missing=bool(models.get("allow_missing")),
            limits=limit_sizes(said),
            ignore=tuple(said.get("ignore") or ()),
            may_lack=True,
        )
        for name, place in model_places(models).items()
    }
    for model in readings.values():
        say_receipt(model.receipt, briefly=True)
        listed = model.predictions
        unscored = coverage(listed)[0] if listed.kind == "scores" and not listed.complete else None
        if unscored is not None and unscored.count:
            say(f"! {model.source.path}: {unscored}", style="yellow")
    return readings


def say_receipt(receipt: Receipt, *, briefly: bool = False) -> None:
    """Tell, on standard error, in a few lines or in one what was understood of a file, and what of it was not used."""
    lines = receipt.lines()
    for line in ["; ".join(map(str.strip, lines))] if briefly else lines:
        say(line, style="yellow" if line.startswith("  !") or (briefly and receipt.lost) else "dim")


def study_and_models(
    file: Path, models: Given, said: Given, *kernels: str
) -> tuple[ds.Study, dict[str, ds.Predictions]]:
    """Read opinions and what the models said about the same cases, and compile what is needed then."""
    study = read(file, said).study
    found = {name: one.predictions for name, one in read_models(models, study, said).items()}
    compile_on_first_use(*kernels)
    return study, found


def case_labels(path: Path | None, cases: tuple[str, ...]) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """Read columns that group cases, aligned to the cases by name, and tell from where; nothing if there are none."""
    from dissensus.core.files import open_source
    from dissensus.study.tables import labels_of_cases

    source = None if path is None else open_source(path)
    if source is None:
        return None, {}
    if not source.is_table:
        raise DissensusError("strata must come in a table", expected="CSV, TSV or Parquet", where=str(source.path))
    try:
        return source, labels_of_cases(source.table, cases)
    except DissensusError as error:
        raise error.at(str(source.path)) from None
