"""The cases of the explorer: a table of all of them, and what is known of each, in blocks that travel in the page."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.arrays import IntArray
from dissensus.core.ragged import row_of_each
from dissensus.evaluation.first_screen import RULES, triage
from dissensus.evaluation.results import winners
from dissensus.evaluation.sums import EACH, block_places
from dissensus.study.panel import ANONYMOUS

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation
    from dissensus.evaluation.tally import Profiles
    from dissensus.predictions.lists import Predictions
    from dissensus.report.section import ReportSubject
    from dissensus.study.study import Study

# How many conditions of a case are shown; the most plausible ones.
MOST_CONDITIONS = 15

# How many of a model's conditions are shown: at least, and at most if a metric looks deeper.
LISTED = (3, 10)

# Stands for all conditions that nobody mentioned.
REST = -1

# So many cases are unpacked at once.
BLOCK = 250

# One character per level: a draw of a plausibility takes one byte, about a hundredth apart.
ALPHABET = " !" + "".join(chr(code) for code in range(0x23, 0x7F) if chr(code) not in "&<>\\")


class Vocabulary(dict[int, int]):
    """Give every condition that is used a short code, in the order of first use."""

    def __missing__(self, condition: int) -> int:
        return self.setdefault(condition, len(self))


def explored(subject: ReportSubject) -> dict[str, Any]:
    """Describe the cases of an evaluation, at most so many and then the most uncertain ones.

    Conditions are codes into ``conditions``. A list of codes with ties is flat: a condition that is tied with the one
    before it is written as minus its code minus one. Numbers are thousandths. ``table`` and ``blocks`` are packed:
    columns of all cases, and the rest of every :data:`BLOCK` of them.
    """
    evaluation, chosen = subject.evaluation, kept_cases(subject)
    categories, vocabulary = evaluation.categories, Vocabulary()
    table, details = tabulated(subject, chosen, vocabulary), detailed(subject, chosen, vocabulary)
    table["support"] = details.pop("support")  # which cases are searched by
    return {
        "total": evaluation.n_cases,
        "kind": evaluation.study.kind,
        "scale": list(evaluation.study.scale or ()),
        "alphabet": ALPHABET,
        "models": list(evaluation.models),
        "metrics": [{"name": one.name, "higher": one.higher_is_better} for one in evaluation.metrics],
        "annotators": list(evaluation.study.panel.annotator_names),
        "run": evaluation.run_label(evaluation.reference),
        "rules": list(RULES),
        "strata": [{"name": name, "labels": sorted(set(labels))} for name, labels in evaluation.strata.items()],
        "conditions": [evaluation.conditions[i] for i in vocabulary],
        "categories": None
        if categories is None
        else {
            "names": list(categories.names),
            "levels": list(categories.levels),
            "codes": [int(categories.codes[i]) for i in vocabulary],
        },
        "table": packed(table),
        "block": BLOCK,
        "blocks": [
            packed({name: column[start : start + BLOCK] for name, column in details.items()})
            for start in range(0, len(chosen), BLOCK)
        ],
    }


def kept_cases(subject: ReportSubject) -> IntArray:
    """Return the positions of the cases to show, in their order."""
    certainty = profile_of(subject.evaluation).certainties[0]
    return np.sort(np.argsort(certainty, kind="stable")[: subject.explorer_cases])


def profile_of(evaluation: Evaluation) -> Profiles:
    """Return what the draws of the reference run say about every case that is held."""
    return evaluation.profiles[evaluation.reference]


def tabulated(subject: ReportSubject, chosen: IntArray, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return what the table shows and what it is filtered by, column by column.

    ``rules`` has a digit per case: 1 if it is settled, and 2 more if models disagree; ``wrong`` one per model and case:
    1 if its first choice is not the most plausible condition, and 2 more if it misses the highest risk.
    """
    evaluation, found = subject.evaluation, triage(subject.evaluation)
    known, categories, agreement = profile_of(evaluation), evaluation.categories, subject.tables.agreement()
    best, members = np.full(evaluation.study.n_cases, REST), np.flatnonzero(known.is_member[0])[::-1]
    best[row_of_each(known.support_offsets)[members]] = known.support[members]
    has_levels, each = categories is not None and bool(categories.levels), block_places(evaluation.metrics, EACH)
    return {
        "cases": [evaluation.case_names[i] for i in chosen],
        "certainty": thousandths(known.certainties[0][chosen]),
        "winner": [REST if code == REST else vocabulary[code] for code in best[chosen].tolist()],
        "category": known.category_winners[chosen].tolist() if categories else [],
        "categoryCertainty": thousandths(known.category_certainties[chosen]) if categories else [],
        "risk": [thousandths(part[chosen]) for part in known.risks] if has_levels else [],
        "disagreement": thousandths((1 - agreement["agreement"])[chosen]) if len(agreement) else [],
        "strata": [np.unique(own, return_inverse=True)[1][chosen].tolist() for own in evaluation.strata.values()],
        "rules": _digits(found.is_settled[chosen], found.is_split[chosen]),
        "wrong": [_digits(*both) for both in zip(found.is_wrong[:, chosen], found.is_missed[:, chosen], strict=True)],
        "scores": [  # metrics of a whole data set have no value of one case
            [thousandths(one.tolist() if k in each else [None] * len(chosen)) for k, one in enumerate(of_model)]
            for of_model in evaluation.case_means[evaluation.reference][:, :, chosen]
        ],
        "own": [thousandths(own_scores(said, evaluation)[chosen]) for said in evaluation.predictions.values()],
    }


def _digits(first: Any, second: Any) -> str:
    return "".join(map(str, (first + 2 * second.astype(np.int64)).tolist()))


def own_scores(said: Predictions, evaluation: Evaluation) -> Any:
    """Return the score that a model gave itself: of the positive answer, or of its first choice; its number if any."""
    if said.kind == "numbers":
        return said.numbers
    found = np.full(said.n_cases, np.nan)
    if said.kind == "scores":
        is_asked = said.codes == len(evaluation.conditions) - 1
        if evaluation.study.question != "binary":
            is_asked = np.zeros(len(said.codes), dtype=np.bool_)
            is_asked[said.offsets[:-1][np.diff(said.offsets) > 0]] = True
        found[:] = 0.0
        found[said.case_of_entry[is_asked]] = said.values[is_asked]
    return found


def detailed(subject: ReportSubject, chosen: IntArray, vocabulary: Vocabulary) -> dict[str, list[Any]]:
    """Return what is shown of one case, column by column."""
    evaluation = subject.evaluation
    panel, depth = evaluation.study.panel, listed(evaluation)
    starts, ends = (offsets[chosen].tolist() for offsets in (panel.opinion_offsets[:-1], panel.opinion_offsets[1:]))
    said = [_lists(predicted, depth, chosen, vocabulary) for predicted in evaluation.predictions.values()]
    return {
        "opinions": [_shared(evaluation.study, range(*ends), vocabulary) for ends in zip(starts, ends, strict=True)],
        "said": [list(of_models) for of_models in zip(*said, strict=True)] if said else [[] for _ in chosen],
        **_plausibilities(evaluation, chosen, vocabulary),
        **_images(subject, chosen),
    }


def case_file(subject: ReportSubject) -> str:
    """Return an address that holds a CSV file of all cases: what is known of each, and what the models said."""
    evaluation, chosen, found = subject.evaluation, kept_cases(subject), triage(subject.evaluation)
    known = profile_of(evaluation)
    best = winners(evaluation.conditions, known, 1).gather(chosen)
    columns: list[tuple[str, Sequence[object]]] = [
        ("case", [evaluation.case_names[i] for i in chosen]),
        ("certainty", [round(one, 4) for one in known.certainties[0][chosen].tolist()]),
        ("most plausible", [names[0] for names in best.to_list()]),
        *((name, [labels[i] for i in chosen]) for name, labels in evaluation.strata.items()),
    ]
    if evaluation.categories is not None:
        names = evaluation.categories.names
        columns.append(("category", [names[code] for code in known.category_winners[chosen]]))
    for m, (model, said) in enumerate(evaluation.predictions.items()):
        columns.append((f"{model}: score", np.round(own_scores(said, evaluation)[chosen], 4).tolist()))
        columns.append((f"{model}: wrong", found.is_wrong[m, chosen].astype(int).tolist()))
    heads, values = zip(*columns, strict=True)
    return csv_link(heads, zip(*values, strict=True))


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


def _lists(predicted: Predictions, depth: int, chosen: IntArray, vocabulary: Vocabulary) -> list[Any]:
    """Return what a model said of each case: a number, or its first conditions with ties marked, and their scores."""
    if predicted.kind == "numbers":
        return [f"{number:.4g}" for number in predicted.numbers[chosen]]
    result = []
    for i in chosen.tolist():
        entries = slice(predicted.offsets[i], min(predicted.offsets[i] + depth, predicted.offsets[i + 1]))
        codes, values = [vocabulary[code] for code in predicted.codes[entries].tolist()], predicted.values[entries]
        tied = [False, *(values[1:] == values[:-1])]
        flat = [-code - 1 if is_tied else code for code, is_tied in zip(codes, tied[: len(codes)], strict=True)]
        result.append([flat, thousandths(values.tolist())] if predicted.kind == "scores" else [flat])
    return result


# What follows -------------------------------------------------------------------------------------------


def _plausibilities(evaluation: Evaluation, chosen: IntArray, vocabulary: Vocabulary) -> dict[str, list[Any]]:
    """Return the conditions of each case, most plausible first, with mean, top share and a few draws."""
    known, found = profile_of(evaluation), defaultdict[str, list[Any]](list)
    codes = np.insert(known.support, known.support_offsets[1:], REST)
    for i in chosen.tolist():
        places = np.arange(known.columns[i], known.columns[i + 1])
        order = places[np.argsort(-known.means[places], kind="stable")]
        is_shown = (np.arange(len(order)) < MOST_CONDITIONS) | (codes[order] == REST)
        shown = order[is_shown]
        found["hidden"].append(len(order) - len(shown))
        found["support"].append([REST if code == REST else vocabulary[code] for code in codes[shown].tolist()])
        found["mean"].append(thousandths(known.means[shown]))
        found["top"].append(thousandths(known.tops[shown]))
        found["draws"].append([one_letter_each(draws) for draws in known.sketch[:, shown].T.astype(float)])
    return found


# What is known about cases and conditions ---------------------------------------------------------------


# How the address of what is no file of this computer begins; browsers read backslashes as slashes.
ELSEWHERE = re.compile(
    r"[\\/]{2}|(?!(?:data|file|[a-z]):)[a-z][a-z0-9+.-]*:|file:(?![\\/]?[^\\/]|[\\/]{3}[^\\/])", re.IGNORECASE
)


def _images(subject: ReportSubject, chosen: IntArray) -> dict[str, list[str]]:
    """Return the pictures of cases, and the addresses of those that are not loaded; nothing without any."""
    if not subject.evaluation.images:
        return {}
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


# Text and numbers that take little room ----------------------------------------------------------------


def packed(value: object) -> str:
    """Write a value as compressed JSON in letters, which browsers unpack when it is needed.

    >>> json.loads(gzip.decompress(base64.b64decode(packed([1, None]))))
    [1, None]
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def thousandths(values: Iterable[float | None]) -> list[int | None]:
    """Write numbers as thousandths; what is unknown stays unknown.

    >>> thousandths([0.25, None, float("nan")])
    [250, None, None]
    """
    return [None if value is None or not math.isfinite(value) else round(1000 * value) for value in values]


def one_letter_each(values: Iterable[float]) -> str:
    """Write plausibilities as one character each.

    >>> one_letter_each([0.0, 1.0])
    ' ~'
    """
    last = len(ALPHABET) - 1
    return "".join(ALPHABET[round(last * min(max(value, 0.0), 1.0))] for value in values)


def csv_link(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as an address that holds a CSV file; no cell is a formula, and no row has a line end within."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    for row in (names, *rows):
        cells = [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in row]
        writer.writerow([f"'{one}" if isinstance(one, str) and re.match(r"[=+\-@]", one) else one for one in cells])
    return "data:text/csv;base64," + base64.b64encode(("\ufeff" + text.getvalue()).encode("utf-8", "replace")).decode()
