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
from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError
from dissensus.core.output import table_writer, write_table, written_whole
from dissensus.core.ragged import row_of_each
from dissensus.study.panel import ANONYMOUS
from dissensus.study.question import NOT_ASSESSED
from dissensus.study.study import Study, require_kind


def long_table(study: Study) -> pl.DataFrame:
    """Return the canonical long form of rankings or checklists as a table.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], case_names=["c1"])
    >>> long_table(said).rows()
    [(None, None, 'a', None), (None, None, 'b', None), ('c1', 1, 'a', 1), ('c1', 1, 'b', 2)]
    """
    said = _answers(study) if study.kind == "checklists" else _mentions(require_kind(study, "rankings", "this form"))
    names = {"finding" if study.kind == "checklists" else "condition": study.conditions}
    names["annotator"] = study.annotator_names
    declared = [pl.DataFrame({role: known}, schema={role: pl.String}) for role, known in names.items()]
    unannotated = _cases(study, np.flatnonzero(study.panel.opinions_per_case == 0))
    rows = pl.concat([*declared, said, unannotated], how="diagonal")
    within = [role for role in ("annotation", "rank") if role in rows.columns]
    rows = rows.sort("case_position", *within, nulls_last=False, maintain_order=True)
    rows = rows.with_columns(unranked=pl.lit(study.unranked), kind_of_question=pl.lit(study.question))
    optional = {
        "annotator": bool(study.annotator_names),
        "weight": study.panel.is_weighted,
        "votes": study.panel.has_votes,
        "group": bool(study.groups),
        "case_weight": study.panel.has_case_weights,
        "unranked": study.unranked != "below",
        "kind_of_question": study.question not in ("conditions", "findings"),
    }
    order = ("case", "annotation", "annotator", "condition", "finding", "rank", "present", *list(optional)[1:])
    return rows.select(column for column in order if column in rows.columns and optional.get(column, True))


def _answers(study: Study) -> pl.DataFrame:
    opinion, finding = np.divmod(np.arange(study.answers.size), study.n_findings)
    answers = pl.Series(study.answers.ravel().astype(np.int64)).replace(NOT_ASSESSED, None)
    return _opinions(study, opinion).with_columns(_named("finding", study.findings, finding), present=answers)


def _mentions(study: Study) -> pl.DataFrame:
    """Return the rows of mentioned conditions and of abstentions."""
    block = row_of_each(study.code_offsets)
    ranking = row_of_each(study.block_offsets)[block]
    mentions = _opinions(study, ranking).with_columns(
        _named("condition", study.conditions, study.codes),
        pl.Series("rank", block - study.block_offsets[ranking] + 1),
    )
    return pl.concat([mentions, _opinions(study, np.flatnonzero(study.is_abstention))], how="diagonal")


def _opinions(study: Study, opinion: IntArray) -> pl.DataFrame:
    case = study.panel.case_of_opinion[opinion]
    return _cases(study, case).with_columns(
        pl.Series("annotation", opinion - study.panel.opinion_offsets[case] + 1),
        _named("annotator", study.annotator_names, study.annotators[opinion]),
        pl.Series("weight", study.weights[opinion]),
        pl.Series("votes", study.votes[opinion]),
    )


def _cases(study: Study, case: IntArray) -> pl.DataFrame:
    group = case if study.groups else np.full_like(case, ANONYMOUS)
    return pl.DataFrame(
        [
            _named("case", study.case_names, case),
            pl.Series("case_position", case),
            _named("group", study.groups, group),
            pl.Series("case_weight", study.case_weights[case]),
        ]
    )


def _named(role: str, names: tuple[str, ...], codes: IntArray) -> pl.Series:
    """Write the names behind codes; nobody in particular is missing."""
    all_names = pl.Series(role, [*names, None], dtype=pl.String)
    return all_names.gather(np.where(codes == ANONYMOUS, len(names), codes))


@checked
def write(annotations: Study, path: Path, *, overwrite: bool = False) -> None:
    """Write annotations or checklists; the ending of the path chooses the form.

    ``.csv``, ``.tsv``, ``.parquet`` and ``.jsonl`` hold the canonical long form, from which
    :func:`~dissensus.read` (or :func:`~dissensus.read`) restores exactly what was written.
    ``.json`` holds nested lists of anonymous rankings and ``.npz`` arrays of them
    (:meth:`Study.to_ranking_arrays`), from which the same is restored; annotators, weights, groups and checklists
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
    >>> from dissensus import Study, read
    >>> said = Study.from_rankings([[[["Eczema"], ["Tinea"]]]], case_names=["c1"])
    >>> with TemporaryDirectory() as folder:
    ...     write(said, FilePath(folder, "opinions.csv"))
    ...     read(FilePath(folder, "opinions.csv")) == said
    True
    """
    check_annotations_ending(path)
    ending, panel = FilePath(path).suffix.lower(), annotations.panel
    if ending not in ANONYMOUS_FORMS:
        write_table(long_table(annotations), path, overwrite=overwrite)
        return
    form, writer = ANONYMOUS_FORMS[ending]
    has_more = panel.annotator_names or panel.is_weighted or panel.has_votes or panel.groups or panel.has_case_weights
    lost = {
        annotations.kind: annotations.kind != "rankings",
        "annotators, weights, votes or groups": has_more,
        "a study without cases": not annotations.n_cases,
    }
    for what, is_there in lost.items():
        if is_there:
            raise DissensusError(f"{form} cannot hold {what}", advice="write .csv, .parquet or .jsonl instead")
    with written_whole(path, overwrite=overwrite) as temporary:
        writer(annotations, temporary)


def check_annotations_ending(path: Path) -> None:
    """Refuse a path whose ending chooses no form."""
    if FilePath(path).suffix.lower() not in ANONYMOUS_FORMS:
        table_writer(path)


def _write_nested(annotations: Study, place: FilePath) -> None:
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


def _write_arrays(annotations: Study, place: FilePath) -> None:
    """Write orders and groups in the smallest numbers that hold them, beside the names."""
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


# Endings that choose a form for rankings of annotators without a name, what it is called, and what writes it.
ANONYMOUS_FORMS = {".json": ("nested lists", _write_nested), ".npz": ("arrays of rankings", _write_arrays)}
