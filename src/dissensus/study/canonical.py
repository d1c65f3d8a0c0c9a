"""Write annotations in the canonical long form, which loses nothing, and in a few others.

The canonical form is a table with one row per mentioned condition: ``case``, ``annotation`` (the number of the ranking
within its case), ``annotator``, ``condition``, ``rank``, and, only where they say something, ``weight``, ``votes``,
``group``, ``case_weight``, ``unranked`` and ``kind_of_question``. Rows without a condition are abstentions, rows with a
case alone are unannotated cases, and rows without a case declare the names of conditions and annotators in their order.

That of checklists has a row for every finding of every checklist, ``finding`` and ``present`` (1, 0, or empty for what
was not assessed) in the place of ``condition`` and ``rank``.
"""

from __future__ import annotations

import json
from pathlib import Path as FilePath

import numpy as np
import polars as pl

from dissensus.core.aliases import IntArray, Path
from dissensus.core.arguments import checked
from dissensus.core.errors import DissensusError
from dissensus.core.output import table_writer, write_table, written_whole
from dissensus.core.ragged import row_of_each
from dissensus.study.checklists import NOT_ASSESSED, Checklists
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations


def long_table(annotations: Annotations | Checklists) -> pl.DataFrame:
    """Return the canonical long form as a table.

    Examples
    --------
    >>> said = Annotations.from_rankings([[[["a"], ["b"]]]], case_names=["c1"])
    >>> long_table(said).rows()
    [(None, None, 'a', None), (None, None, 'b', None), ('c1', 1, 'a', 1), ('c1', 1, 'b', 2)]
    """
    if isinstance(annotations, Checklists):
        return _table_of_checklists(annotations)
    rows = pl.concat([_declared(annotations), _mentions(annotations), _silent(annotations)], how="diagonal")
    rows = rows.sort("case_position", "annotation", "rank", nulls_last=False, maintain_order=True)
    if annotations.unranked != "below":
        rows = rows.with_columns(unranked=pl.lit(annotations.unranked))
    if annotations.question != "conditions":
        rows = rows.with_columns(kind_of_question=pl.lit(annotations.question))
    return rows.select(column for column in _columns(annotations) if column in rows.columns)


def _table_of_checklists(said: Checklists) -> pl.DataFrame:
    opinion, finding = np.divmod(np.arange(said.answers.size), said.n_findings)
    answers = said.answers.ravel().astype(np.int64)
    rows = _opinions(said, opinion).with_columns(
        _named("condition", said.conditions, finding),
        present=pl.Series(answers).replace(NOT_ASSESSED, None),
    )
    unannotated = _cases(said, np.flatnonzero(said.panel.opinions_per_case == 0))
    rows = pl.concat([_declared(said), rows, unannotated], how="diagonal")
    rows = rows.sort("case_position", "annotation", nulls_last=False, maintain_order=True)
    order = ("case", "annotation", "annotator", "condition", "present", "weight", "votes", "group", "case_weight")
    says = _optional(said)
    return rows.select(column for column in order if says.get(column, True)).rename({"condition": "finding"})


def _optional(study: Annotations | Checklists) -> dict[str, bool]:
    """Tell which of the columns that not every study needs say something."""
    return {
        "annotator": bool(study.annotator_names),
        "weight": study.panel.is_weighted,
        "votes": study.panel.has_votes,
        "group": bool(study.groups),
        "case_weight": study.panel.has_case_weights,
    }


def _columns(annotations: Annotations) -> list[str]:
    optional = {
        **_optional(annotations),
        "unranked": annotations.unranked != "below",
        "kind_of_question": annotations.question != "conditions",
    }
    order = ("case", "annotation", "annotator", "condition", "rank", *list(optional)[1:])
    return [column for column in order if optional.get(column, True)]


def _declared(annotations: Annotations | Checklists) -> pl.DataFrame:
    conditions = pl.DataFrame({"condition": annotations.conditions}, schema={"condition": pl.String})
    annotators = pl.DataFrame({"annotator": annotations.annotator_names}, schema={"annotator": pl.String})
    return pl.concat([conditions, annotators], how="diagonal")


def _mentions(annotations: Annotations) -> pl.DataFrame:
    block = row_of_each(annotations.code_offsets)
    ranking = row_of_each(annotations.block_offsets)[block]
    return _opinions(annotations, ranking).with_columns(
        _named("condition", annotations.conditions, annotations.codes),
        pl.Series("rank", block - annotations.block_offsets[ranking] + 1),
    )


def _silent(annotations: Annotations) -> pl.DataFrame:
    """Return the rows of abstentions and of cases without any ranking."""
    abstained = _opinions(annotations, np.flatnonzero(annotations.blocks_per_ranking == 0))
    unannotated = _cases(annotations, np.flatnonzero(annotations.rankings_per_case == 0))
    return pl.concat([abstained, unannotated], how="diagonal")


def _opinions(annotations: Annotations | Checklists, ranking: IntArray) -> pl.DataFrame:
    case = annotations.panel.case_of_opinion[ranking]
    annotator = annotations.annotators[ranking]
    return _cases(annotations, case).with_columns(
        pl.Series("annotation", ranking - annotations.panel.opinion_offsets[case] + 1),
        _named("annotator", annotations.annotator_names, annotator),
        pl.Series("weight", annotations.weights[ranking]),
        pl.Series("votes", annotations.votes[ranking]),
    )


def _cases(annotations: Annotations | Checklists, case: IntArray) -> pl.DataFrame:
    group = case if annotations.groups else np.full_like(case, ANONYMOUS)
    return pl.DataFrame(
        [
            _named("case", annotations.case_names, case),
            pl.Series("case_position", case),
            _named("group", annotations.groups, group),
            pl.Series("case_weight", annotations.case_weights[case]),
        ]
    )


def _named(role: str, names: tuple[str, ...], codes: IntArray) -> pl.Series:
    """Write the names behind codes; nobody in particular is missing."""
    all_names = pl.Series(role, [*names, None], dtype=pl.String)
    return all_names.gather(np.where(codes == ANONYMOUS, len(names), codes))


@checked
def write_annotations(annotations: Annotations | Checklists, path: Path, *, overwrite: bool = False) -> None:
    """Write annotations or checklists; the ending of the path chooses the form.

    ``.csv``, ``.tsv``, ``.parquet`` and ``.jsonl`` hold the canonical long form, from which
    :func:`~dissensus.read_annotations` (or :func:`~dissensus.read_checklists`) restores exactly what was written.
    ``.json`` holds nested lists of anonymous rankings and ``.npz`` arrays of them
    (:meth:`Annotations.to_ranking_arrays`), from which the same is restored; annotators, weights, groups and checklists
    are refused there, and abstentions in arrays, too.

    Parameters
    ----------
    annotations
        What to write.
    path
        Where to.
    overwrite
        Replace an existing file.

    Raises
    ------
    FormatError
        If the ending is not known, or if the file cannot be written or exists already; nothing half-written is left
        behind.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from dissensus import read_annotations
    >>> said = Annotations.from_rankings([[[["Eczema"], ["Tinea"]]]], case_names=["c1"])
    >>> with TemporaryDirectory() as folder:
    ...     write_annotations(said, FilePath(folder, "opinions.csv"))
    ...     read_annotations(FilePath(folder, "opinions.csv")) == said
    True
    """
    check_annotations_ending(path)
    writer = ANONYMOUS_FORMS.get(FilePath(path).suffix.lower())
    if writer is not None:
        annotations = _checked_rankings(annotations)
        with written_whole(path, overwrite=overwrite) as temporary:
            writer(annotations, temporary)
    else:
        write_table(long_table(annotations), path, overwrite=overwrite)


def _checked_rankings(annotations: Annotations | Checklists) -> Annotations:
    if isinstance(annotations, Annotations):
        return annotations
    raise DissensusError(
        "lists and arrays of rankings cannot hold checklists", advice="write .csv, .parquet or .jsonl instead"
    )


def check_annotations_ending(path: Path) -> None:
    """Refuse a path whose ending chooses no form."""
    if FilePath(path).suffix.lower() not in ANONYMOUS_FORMS:
        table_writer(path)


def _check_anonymous(annotations: Annotations, form: str) -> None:
    """Refuse what lists and arrays of anonymous rankings would lose."""
    panel, instead = annotations.panel, "write .csv, .parquet or .jsonl instead"
    if panel.annotator_names or panel.is_weighted or panel.has_votes or panel.groups or panel.has_case_weights:
        raise DissensusError(f"{form} cannot hold annotators, weights, votes or groups", advice=instead)
    if not annotations.n_cases:
        raise DissensusError(f"{form} cannot hold a study without cases", advice=instead)


def _write_nested(annotations: Annotations, place: FilePath) -> None:
    _check_anonymous(annotations, "nested lists")
    document: dict[str, object] = {
        "conditions": annotations.conditions,
        "case_names": annotations.case_names,
        "rankings": annotations.to_rankings(),
    }
    if annotations.unranked != "below":
        document["unranked"] = annotations.unranked
    if annotations.question != "conditions":
        document["kind_of_question"] = annotations.question
    place.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def _write_arrays(annotations: Annotations, place: FilePath) -> None:
    """Write orders and groups in the smallest numbers that hold them, beside the names."""
    _check_anonymous(annotations, "arrays of rankings")
    names = {"conditions": annotations.conditions, "case_names": annotations.case_names}
    texts = {key: np.array(known, dtype=np.str_) for key, known in names.items()}
    is_lost = any(tuple(texts[key].tolist()) != known for key, known in names.items())
    if annotations.is_abstention.any() or not annotations.n_rankings or not annotations.n_conditions or is_lost:
        raise DissensusError(
            "arrays of rankings cannot hold abstentions, no rankings at all, or names that end in zero bytes",
            advice="write .csv, .parquet, .jsonl or .json instead",
        )
    numbers = np.min_scalar_type(-annotations.n_conditions)
    rankings, groups = (array.astype(numbers) for array in annotations.to_ranking_arrays())
    arrays = {"rankings": rankings, "groups": groups, "unranked": np.array(annotations.unranked), **texts}
    if annotations.question != "conditions":
        arrays["kind_of_question"] = np.array(annotations.question)
    with place.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


ANONYMOUS_FORMS = {".json": _write_nested, ".npz": _write_arrays}
"""Endings that choose a form for rankings of annotators without a name, and what writes it."""
