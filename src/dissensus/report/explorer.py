"""The cases of the explorer, column by column: small enough to travel inside the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.aliases import IntArray
from dissensus.report.encoding import ALPHABET, one_letter_each, thousandths
from dissensus.report.section import shown_runs
from dissensus.study.panel import ANONYMOUS

if TYPE_CHECKING:
    import polars as pl

    from dissensus.evaluation.results import Evaluation
    from dissensus.predictions.lists import Predictions
    from dissensus.report.section import ReportSubject
    from dissensus.study.study import Study

# How many conditions of a case are shown; the most plausible ones.
MOST_CONDITIONS = 15

# How many of a model's conditions are shown: at least, and at most if a metric looks deeper.
LISTED = (3, 10)

# Stands for all conditions that nobody mentioned.
REST = -1


class Vocabulary(dict[int, int]):
    """Give every condition that is used a short code, in the order of first use."""

    def __init__(self, names: Sequence[str]) -> None:
        self.positions: dict[str | None, int] = {name: position for position, name in enumerate(names)}

    def __missing__(self, condition: int) -> int:
        return self.setdefault(condition, len(self))

    def code_of(self, name: str | None) -> int:
        """Return the code of a condition by name; what is no condition stands for the rest."""
        return self[self.positions[name]] if name in self.positions else REST


def explored(subject: ReportSubject) -> dict[str, Any]:
    """Describe the cases of an evaluation, at most so many and then the most uncertain ones.

    Conditions are codes into ``conditions``. A list of codes with ties is flat: a condition that is tied with the one
    before it is written as minus its code minus one. Numbers are thousandths.
    """
    evaluation, chosen = subject.evaluation, kept_cases(subject)
    categories, panel = evaluation.categories, evaluation.study.panel
    vocabulary = Vocabulary(evaluation.conditions)
    starts, ends = (offsets[chosen].tolist() for offsets in (panel.opinion_offsets[:-1], panel.opinion_offsets[1:]))
    ranges = [range(start, end) for start, end in zip(starts, ends, strict=True)]
    opinions = [_shared(evaluation.study, own, vocabulary) for own in ranges]
    depth = listed(evaluation)
    lists = [_lists(evaluation.predictions[model], depth, chosen, vocabulary) for model in evaluation.models]
    # the reference and panel can be looked at; without a panel, a run of every aggregation
    shown = shown_runs(evaluation) if evaluation.panel is None else [evaluation.reference, evaluation.panel]
    runs = [_run(subject, run, chosen, vocabulary) for run in dict.fromkeys(shown)]
    return {
        "cases": [evaluation.case_names[i] for i in chosen],
        "total": len(evaluation.case_names),
        "kind": evaluation.study.kind,
        "scale": list(evaluation.study.scale or ()),
        "alphabet": ALPHABET,
        "models": list(evaluation.models),
        "metrics": [{"name": one.name, "higher": one.higher_is_better} for one in evaluation.metrics],
        "opinions": opinions,
        "annotators": list(panel.annotator_names),
        "lists": lists,
        "numbers": [
            [f"{number:.4g}" for number in said.numbers[chosen]] if said.kind == "numbers" else []
            for said in (evaluation.predictions[model] for model in evaluation.models)
        ],
        "runs": runs,
        "disagreement": _disagreement(subject, chosen),
        "strata": [
            {"name": column, "labels": known, "codes": _codes([labels[i] for i in chosen], known)}
            for column, labels, known in ((name, own, sorted(set(own))) for name, own in evaluation.strata.items())
        ],
        **_images(subject, chosen),
        "conditions": [evaluation.conditions[i] for i in vocabulary],
        "categories": None
        if categories is None
        else {
            "names": list(categories.names),
            "levels": list(categories.levels),
            "codes": [int(categories.codes[i]) for i in vocabulary],
        },
    }


def kept_cases(subject: ReportSubject) -> IntArray:
    """Return the positions of the cases to show, in their order."""
    evaluation = subject.evaluation
    certainty = evaluation.profiles[evaluation.reference].certainties[0]
    return np.sort(np.argsort(certainty, kind="stable")[: subject.explorer_cases])


def _by_case(evaluation: Evaluation, frame: pl.DataFrame, cases: IntArray) -> pl.DataFrame:
    """Put one row per case into the order of cases; a case without a row has nulls."""
    import polars as pl

    names = [evaluation.case_names[i] for i in cases]
    wanted = pl.DataFrame({"case": pl.Series(names, dtype=pl.String)})
    return wanted.join(frame, on="case", how="left", maintain_order="left")


# What was said ------------------------------------------------------------------------------------------


def _shared(study: Study, opinions: range, vocabulary: Vocabulary) -> list[list[Any]]:
    """Return who said what of one case: pairs of an opinion and the annotators who share it.

    Annotators are codes; a negative number is how many of them have no name, less than zero.
    """
    groups: dict[tuple[float, ...], list[Any]] = {}
    for opinion in opinions:
        weight = float(study.panel.weights[opinion])
        numbers = study.said(opinion, vocabulary.__getitem__)
        group = groups.setdefault((*numbers, weight), [numbers, [], weight])
        annotator, votes = int(study.panel.annotators[opinion]), int(study.panel.votes[opinion])
        group[1].append(-votes if annotator == ANONYMOUS else annotator)
    return [group if group[2] != 1 else group[:2] for group in groups.values()]


def listed(evaluation: Evaluation) -> int:
    """Return how many of a model's conditions to show: as many as the deepest metric compares, within limits."""
    least, most = LISTED
    return min(max(least, *(metric.depth for metric in evaluation.metrics)), most) if evaluation.metrics else least


def _lists(predicted: Predictions, depth: int, chosen: IntArray, vocabulary: Vocabulary) -> list[list[int]]:
    """Return the first conditions that a model names on each case, ties marked; a number names none."""
    if predicted.kind == "numbers":
        return [[] for _ in chosen]
    result = []
    for i in chosen.tolist():
        entries = slice(predicted.offsets[i], min(predicted.offsets[i] + depth, predicted.offsets[i + 1]))
        codes, values = [vocabulary[code] for code in predicted.codes[entries].tolist()], predicted.values[entries]
        tied = [False, *(values[1:] == values[:-1])]
        result.append([-code - 1 if is_tied else code for code, is_tied in zip(codes, tied[: len(codes)], strict=True)])
    return result


# What follows -------------------------------------------------------------------------------------------


def _run(subject: ReportSubject, run: int, chosen: IntArray, vocabulary: Vocabulary) -> dict[str, Any]:
    """Describe every case under one run."""
    evaluation, tables = subject.evaluation, subject.tables
    rows = evaluation.of_run(tables.certainties(), run)
    certainty = _by_case(evaluation, rows.filter(rows["top"] == 1), chosen)
    category = _by_case(evaluation, evaluation.of_run(tables.category_certainties(), run), chosen)
    risk = _by_case(evaluation, evaluation.of_run(tables.risks(), run), chosen)
    means = evaluation.case_means[run][:, :, chosen]
    has_levels = evaluation.categories is not None and bool(evaluation.categories.levels)
    return {
        "label": evaluation.runs[run].label,
        "estimand": evaluation.runs[run].estimand,
        "certainty": thousandths(certainty["certainty"]),
        "winner": [vocabulary.code_of(names[0] if names else None) for names in certainty["winner"].to_list()],
        "category": _codes(category["category"], evaluation.categories.names) if evaluation.categories else [],
        "categoryCertainty": thousandths(category["certainty"]) if evaluation.categories else [],
        "risk": [thousandths(risk[part]) for part in ("mean", "min", "max")] if has_levels else [],
        "scores": [[thousandths(one.tolist()) for one in means[m]] for m in range(len(evaluation.models))],
        **_plausibilities(subject, run, chosen, vocabulary),
    }


def _codes(names: Iterable[str | None], known: Sequence[str]) -> list[int | None]:
    positions = {name: position for position, name in enumerate(known)}
    return [None if name is None else positions[name] for name in names]


def _plausibilities(subject: ReportSubject, run: int, chosen: IntArray, vocabulary: Vocabulary) -> dict[str, list[Any]]:
    """Return the conditions of each case, most plausible first, with mean, top share and a few draws."""
    import polars as pl

    evaluation = subject.evaluation
    names = pl.DataFrame({"case": pl.Series([evaluation.case_names[i] for i in chosen], dtype=pl.String)})
    frame = evaluation.of_run(subject.tables.plausibilities(), run)
    rows = names.with_row_index("position").join(frame, on="case", maintain_order="left")
    rows = rows.sort("position", "mean", descending=[False, True], maintain_order=True)
    is_shown = (pl.int_range(pl.len()) < MOST_CONDITIONS) | pl.col("condition").is_null()
    parts = rows.group_by("position", maintain_order=True).agg(
        pl.col("condition", "mean", "top", "draws").filter(is_shown), (~is_shown).sum().alias("hidden")
    )
    return {
        "hidden": parts["hidden"].to_list(),
        "support": [[vocabulary.code_of(name) for name in names] for names in parts["condition"].to_list()],
        "mean": [thousandths(values) for values in parts["mean"].to_list()],
        "top": [thousandths(values) for values in parts["top"].to_list()],
        "draws": [[one_letter_each(draws) for draws in some] for some in parts["draws"].to_list()],
    }


# What is known about cases and conditions ---------------------------------------------------------------


# How the address of what is no file of this computer begins; browsers read backslashes as slashes.
ELSEWHERE = re.compile(
    r"[\\/]{2}|(?!(?:data|file|[a-z]):)[a-z][a-z0-9+.-]*:|file:(?![\\/]?[^\\/]|[\\/]{3}[^\\/])", re.IGNORECASE
)


def _images(subject: ReportSubject, chosen: IntArray) -> dict[str, list[str] | None]:
    """Return the pictures of cases, and the addresses of those that are not loaded."""
    if not subject.evaluation.images:
        return {"images": None, "withheld": None}
    addresses = [picture_address(subject.evaluation.images[i] or "") for i in chosen]
    allowed = [one if is_local(one) or subject.remote_images else "" for one in addresses]
    withheld = ["" if one == shown else one for one, shown in zip(addresses, allowed, strict=True)]
    return {"images": allowed, "withheld": withheld}


def picture_address(text: str) -> str:
    r"""Return the address of a picture as a browser would read it; doubled slashes within a path become one.

    >>> picture_address(" //host/x.png"), picture_address("pictures\\\\1.png")
    ('https://host/x.png', 'pictures/1.png')
    """
    address = re.sub(r"[\t\r\n]", "", text).strip("".join(map(chr, range(33))))
    if re.match(r"[\\/]{2}", address):
        return "https://" + address.lstrip("\\/")
    return re.sub(r"[\\/]{2,}", "/", address) if is_local(address) and ":" not in address else address


def is_local(address: str) -> bool:
    """Tell a picture within the page or in a file of this computer from one that some network holds.

    >>> [is_local(one) for one in ("a.png", "data:image/png;base64,", "file:///a.png", "http://h/a", "file://h/a")]
    [True, True, True, False, False]
    """
    return not ELSEWHERE.match(address)


def remote_images(subject: ReportSubject) -> int:
    """Count the cases whose picture the page loads from a network."""
    images = subject.evaluation.images if subject.remote_images else ()
    return sum(not is_local(picture_address(images[i] or "")) for i in kept_cases(subject) if images)


def _disagreement(subject: ReportSubject, chosen: IntArray) -> list[int | None]:
    agreement = subject.tables.agreement()
    if not len(agreement):
        return []
    known = _by_case(subject.evaluation, agreement, chosen)["agreement"]
    return thousandths((1 - known).to_list())
