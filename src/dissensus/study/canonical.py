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
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.arrays import IntArray, Path
from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError
from dissensus.core.output import table_writer, write_table, written_whole
from dissensus.core.ragged import row_of_each
from dissensus.study.panel import ANONYMOUS
from dissensus.study.question import NOT_ASSESSED, recognised_question
from dissensus.study.study import Study, require_kind

# Endings that choose a form for rankings of annotators without a name, and what it is called.
ANONYMOUS_FORMS = {".json": "nested lists", ".npz": "arrays of rankings"}


def long_table(study: Study) -> pl.DataFrame:
    """Return the canonical long form of a study as a table; ratings have a column ``rating``.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], case_names=["c1"])
    >>> long_table(said).rows()
    [(None, None, 'a', None), (None, None, 'b', None), ('c1', 1, 'a', 1), ('c1', 1, 'b', 2)]
    """
    panel, noun = study.panel, "finding" if study.kind == "checklists" else "condition"
    cases = pl.DataFrame(
        {
            "case": study.case_names,
            "case_position": np.arange(study.n_cases),
            "group": study.groups or [None] * study.n_cases,
            "case_weight": study.case_weights,
        },
        schema_overrides={"case": pl.String, "group": pl.String},
    )
    opinions = cases[panel.case_of_opinion].with_columns(
        _named("annotator", study.annotator_names, study.annotators),
        _named("annotator_group", panel.annotator_groups or study.annotator_names, study.annotators),
        annotation=np.arange(study.n_opinions) - panel.opinion_offsets[panel.case_of_opinion] + 1,
        weight=study.weights,
        votes=study.votes,
    )
    names = {noun: () if study.kind == "ratings" else study.conditions, "annotator": study.annotator_names}
    declared = [pl.DataFrame({role: known}, schema={role: pl.String}) for role, known in names.items()]
    said, silent = _said(study, opinions), cases[np.flatnonzero(panel.opinions_per_case == 0)]
    rows = pl.concat([*declared, said, silent], how="diagonal")
    within = [role for role in ("annotation", "rank") if role in rows.columns]
    rows = rows.sort("case_position", *within, nulls_last=False, maintain_order=True)
    rows = rows.with_columns(unranked=pl.lit(study.unranked), kind_of_question=pl.lit(study.question))
    optional = {
        "annotator": bool(study.annotator_names),
        "annotator_group": bool(panel.annotator_groups),
        "weight": study.panel.is_weighted,
        "votes": study.panel.has_votes,
        "group": bool(study.groups),
        "case_weight": study.panel.has_case_weights,
        "unranked": study.unranked != "below",
        "kind_of_question": study.question != "findings" and _says_question(study),
    }
    order = ("case", "annotation", "annotator", noun, "rank", "present", "rating", *list(optional)[1:])
    return rows.select(column for column in order if column in rows.columns and optional.get(column, True))


def _says_question(study: Study) -> bool:
    """Tell whether the question has to be written: it is not that of conditions, or would be taken for another."""
    return study.question != "conditions" or recognised_question(study.conditions) is not None


def _said(study: Study, opinions: pl.DataFrame) -> pl.DataFrame:
    """Give every answer a row, or every mentioned condition and every abstention."""
    if study.kind == "checklists":
        opinion, finding = np.divmod(np.arange(study.answers.size), study.n_findings)
        answers = pl.Series(study.answers.ravel().astype(np.int64)).replace(NOT_ASSESSED, None)
        return opinions[opinion].with_columns(_named("finding", study.findings, finding), present=answers)
    if study.kind == "ratings":
        return opinions.with_columns(rating=study.scores)
    ranking, block = study.ranking_of_mention, row_of_each(study.code_offsets)
    rank = pl.Series("rank", block - study.block_offsets[ranking] + 1)
    mentions = opinions[ranking].with_columns(_named("condition", study.conditions, study.codes), rank)
    return pl.concat([mentions, opinions[np.flatnonzero(study.is_abstention)]], how="diagonal")


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
        if annotations.kind != "checklists":
            require_kind(annotations, "rankings", "this form")
        write_table(long_table(annotations), path, overwrite=overwrite)
        return
    form = ANONYMOUS_FORMS[ending]
    has_more = panel.annotator_names or panel.is_weighted or panel.has_votes or panel.groups or panel.has_case_weights
    lost = {
        annotations.kind: annotations.kind != "rankings",
        "annotators, weights, votes or groups": has_more,
        "a study without cases": not annotations.n_cases,
    }
    for what, is_there in lost.items():
        if is_there:
            raise DissensusError(f"{form} cannot hold {what}", advice="write .csv, .parquet or .jsonl instead")
    document: dict[str, Any] = {"conditions": annotations.conditions, "case_names": annotations.case_names}
    document |= {"unranked": annotations.unranked} if annotations.unranked != "below" else {}
    document |= {"kind_of_question": annotations.question} if _says_question(annotations) else {}
    texts = {key: np.array(known, dtype=np.str_) for key, known in document.items()}
    is_lost = any(tuple(texts[key].tolist()) != document[key] for key in ("conditions", "case_names"))
    is_empty = not annotations.n_rankings or not annotations.n_conditions
    if ending == ".npz" and (annotations.is_abstention.any() or is_empty or is_lost):
        raise DissensusError(
            "arrays of rankings cannot hold abstentions, no rankings at all, or names that end in zero bytes",
            advice="write .csv, .parquet, .jsonl or .json instead",
        )
    with written_whole(path, overwrite=overwrite) as temporary:
        if ending == ".json":
            document["rankings"] = annotations.to_rankings()
            temporary.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        else:  # in the smallest numbers that hold them
            smallest = np.min_scalar_type(-annotations.n_conditions)
            rankings, groups = (array.astype(smallest) for array in annotations.to_ranking_arrays())
            with temporary.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, rankings=rankings, groups=groups, **texts)


def check_annotations_ending(path: Path) -> None:
    """Refuse a path whose ending chooses no form."""
    if FilePath(path).suffix.lower() not in ANONYMOUS_FORMS:
        table_writer(path)
