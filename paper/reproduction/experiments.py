"""Run the experiments of the paper that the data at hand allows, and put its numbers beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, TypeAlias

from dissensus.core.arrays import Path
from dissensus.core.errors import FormatError, listing
from paper.data.ava import AVA, FULL, load_ava
from paper.data.chaosnli import CHAOSNLI
from paper.data.cifar10h import CIFAR10H, load_cifar10h
from paper.data.dermatology import DERMATOLOGY, MODELS, load_dermatology
from paper.data.publication import Publication
from paper.data.wikipedia_toxicity import WIKIPEDIA_TOXICITY, load_wikipedia_toxicity
from paper.reproduction.cifar10h_experiment import cifar10h_section
from paper.reproduction.dermatology_experiment import dermatology_section
from paper.reproduction.held_out_experiment import TITLE as HELD_OUT_TITLE
from paper.reproduction.held_out_experiment import held_out_section
from paper.reproduction.models_experiment import models_section
from paper.reproduction.printed_experiment import printed_section
from paper.reproduction.ratings_experiment import AVA_CASES, TOXICITY_CASES, ava_section, toxicity_section
from paper.reproduction.rows import VERDICTS, Row, Section, Settings
from paper.reproduction.tempered_experiment import tempered_section
from paper.reproduction.toy_experiment import toy_section
from paper.trials.plan import crowds

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.receipt import Note

Watch: TypeAlias = Callable[[str, int, int], None]
"""Is told what begins, how many experiments are done, and how many there are."""

Experiment: TypeAlias = Callable[[Settings], tuple[Section, "tuple[Note, ...]"]]

ALTERNATIVES = {AVA.folder: (FULL,)}
"""Other names under which a data set is found."""

PREDICTIONS = tuple(f"dermatology_predictions{number}.txt" for number in range(len(MODELS)))


CROWD_FILES = tuple(f"{one.folder}/{one.files[0].name} and models" for one in (CHAOSNLI, CIFAR10H))


@dataclass(frozen=True)
class Missing:
    """Data that was looked for and is not there, and where to get it."""

    title: str
    files: tuple[str, ...]
    origin: str

    def __str__(self) -> str:
        return f"no {self.title} ({', '.join(self.files)}): get it from {self.origin}"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Hold the paper's numbers beside ours.

    Attributes
    ----------
    sections
        What each experiment gave.
    missing
        Data that was not there, with where to get it.
    notes
        What deserves a look in the data that was there.
    settings
        Draws and seed.
    """

    sections: tuple[Section, ...]
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)

    @property
    def rows(self) -> tuple[Row, ...]:
        """All comparisons, experiment by experiment."""
        return tuple(row for section in self.sections for row in section.rows)

    @property
    def frames(self) -> Mapping[str, pl.DataFrame]:
        """The numbers behind the figures, by name."""
        return {name: frame for section in self.sections for name, frame in section.frames.items()}

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each verdict."""
        verdicts = [row.verdict for row in self.rows]
        return {verdict: verdicts.count(verdict) for verdict in VERDICTS}

    def to_frame(self) -> pl.DataFrame:
        """Return a row per number: what the paper says, ours, its Monte Carlo error, settings, verdict and reason."""
        import polars as pl

        return pl.DataFrame([row.to_dict() for row in self.rows], infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the frames as plain values."""
        from importlib.metadata import version

        return {
            "dissensus": version("dissensus"),
            "settings": asdict(self.settings),
            "verdicts": self.counts,
            "missing": [asdict(each) for each in self.missing],
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_json(self) -> str:
        """Return everything but the frames as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        told = ", ".join(f"{verdict} {count}" for verdict, count in self.counts.items() if count)
        absent = f"; without {listing((each.title for each in self.missing), most=9)}" if self.missing else ""
        return f"Reproduction: {len(self.rows)} numbers, {told}{absent}"


def reproduce(
    data_directory: Path | None = None,
    *,
    draws: int = 1000,
    sweep_draws: int = 250,
    seed: int = 0,
    threads: int | None = None,
    watch: Watch | None = None,
) -> Reproduction:
    """Run the experiments of the paper and compare number by number.

    Parameters
    ----------
    data_directory
        Where the published data is: each data set in this directory or in a folder of it (``dermatology_ddx``,
        ``cifar10h``, ``ava``, ``wikipedia_toxicity``). Without it, the toy problem and the printed cases still run.
        With the folders ``chaosnli_snli`` and ``cifar10h`` and models in both, adjusted accuracy is also held against
        what larger panels say, which is beyond the paper.
    draws, sweep_draws
        Draws per case, and at the reliabilities that only the main figure needs.
    seed, threads
        As everywhere.
    watch
        Is told what begins, how many experiments are done, and how many there are.

    Raises
    ------
    DissensusError
        If the directory has none of the files that are looked for, or a file is not what it should be.
    """
    settings = Settings(draws, sweep_draws, seed, threads)
    experiments, missing = _experiments(data_directory)
    sections, notes = [], []
    for number, (title, experiment) in enumerate(experiments.items()):
        if watch is not None:
            watch(title, number, len(experiments))
        section, found = experiment(settings)
        sections.append(section)
        notes += [str(note) for note in found]
    if watch is not None:
        watch("done", len(experiments), len(experiments))
    return Reproduction(tuple(sections), missing, tuple(dict.fromkeys(notes)), settings)


def _experiments(data_directory: Path | None) -> tuple[dict[str, Experiment], tuple[Missing, ...]]:
    """Choose the experiments that the data allows; say what is missing for the others."""
    chosen: dict[str, Experiment] = {
        "toy problem": lambda settings: (toy_section(settings), ()),
        "printed cases": lambda settings: (printed_section(settings), ()),
    }
    missing = []
    found = {} if data_directory is None else _found(data_directory)
    for publication, experiments in DATA.items():
        if publication.folder in found:
            chosen |= experiments(found[publication.folder])
        else:
            files = tuple(file.name for file in publication.files)
            missing.append(Missing(publication.title, files, publication.origin))
    place = found.get(DERMATOLOGY.folder)
    if place is not None and not any(_has_predictions(place, number) for number in range(len(MODELS))):
        missing.append(Missing("predictions of the four models", PREDICTIONS, DERMATOLOGY.origin))
    if data_directory is not None and _has_crowds(FilePath(data_directory)):
        chosen |= _held_out(FilePath(data_directory))
    else:
        missing.append(Missing("large panels beyond the paper", CROWD_FILES, f"{CHAOSNLI.origin}; {CIFAR10H.origin}"))
    return chosen, tuple(missing)


def _has_crowds(top: FilePath) -> bool:
    """Tell whether votes and at least two models of both crowds are there."""
    return all(
        (top / one.folder / one.files[0].name).is_file() and len(list((top / one.folder).glob(models))) > 1
        for one, models in ((CHAOSNLI, "pred_*.csv"), (CIFAR10H, "scores_*.npy"))
    )


def _has_predictions(place: FilePath, number: int) -> bool:
    return any((place / f"dermatology_predictions{number}{ending}").is_file() for ending in (".txt", ".json"))


def _found(data_directory: Path) -> dict[str, FilePath]:
    """Find the folder of each data set; a directory without any of them is an error."""
    top = FilePath(data_directory)
    names = {each.folder: (*(file.name for file in each.files), *ALTERNATIVES.get(each.folder, ())) for each in DATA}
    if not top.is_dir():
        raise FormatError("there is no such directory", got=str(top), advice=_looked_for(names))
    found = {
        folder: place
        for folder, files in names.items()
        for place in [top, top / folder]
        if any((place / name).is_file() for name in files)
    }
    if not found:
        raise FormatError(
            "the directory has none of the data",
            expected=_looked_for(names),
            got="; ".join(sorted(item.name for item in top.iterdir())[:8]) or "an empty directory",
            where=str(top),
            advice="; ".join(f"{each.title}: {each.advice}" for each in DATA),
        )
    return found


def _looked_for(names: Mapping[str, tuple[str, ...]]) -> str:
    sets = (f"{folder}/ with {', '.join(files)}" for folder, files in names.items())
    return f"at least one of these, in it or in a folder of it: {'; '.join(sets)}"


# Data is loaded before any experiment begins: what is wrong with it shows at once.


def _cifar10h(place: FilePath) -> dict[str, Experiment]:
    data = load_cifar10h(place)
    return {"CIFAR-10H": lambda settings: (cifar10h_section(data, settings), data.notes)}


def _ava(place: FilePath) -> dict[str, Experiment]:
    data = load_ava(place, most=AVA_CASES)
    return {"AVA": lambda settings: (ava_section(data.ratings, settings), data.notes)}


def _toxicity(place: FilePath) -> dict[str, Experiment]:
    data = load_wikipedia_toxicity(place, most=TOXICITY_CASES)
    return {"Wikipedia toxicity": lambda settings: (toxicity_section(data.ratings, settings), data.notes)}


def _dermatology(place: FilePath) -> dict[str, Experiment]:
    data = load_dermatology(place)
    return {
        "dermatology": lambda settings: (dermatology_section(data, settings), data.notes),
        "models": lambda settings: (models_section(data, settings), ()),
        "tempering": lambda settings: (tempered_section(data, settings), ()),
    }


def _held_out(top: FilePath) -> dict[str, Experiment]:
    both = crowds(top)
    return {HELD_OUT_TITLE: lambda settings: (held_out_section(*both, settings), ())}


DATA: Mapping[Publication, Callable[[FilePath], dict[str, Experiment]]] = {
    CIFAR10H: _cifar10h,
    AVA: _ava,
    WIKIPEDIA_TOXICITY: _toxicity,
    DERMATOLOGY: _dermatology,
}
"""The data that experiments need, in the order of the paper's sections."""
