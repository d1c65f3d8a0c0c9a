"""Files of opinions: what each says, what its receipt tells, and how whatever is wrong is refused.

``readings.json`` holds names of files and their content (or an example of another test, maybe with a change), options
to read them with, and what to expect: of the study and of the receipt, or parts of the error. Rankings are written as
``a>b=c; - | d``: opinions, of which ``-`` abstains, case by case; checklists as ``AF+ST; -``, ``-`` found none.
"""

import json
import pickle
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import DissensusError, DissensusWarning, Study, examine, read
from dissensus.core.files import Source
from dissensus.predictions.reader import examine_predictions
from dissensus.study.reading import Reading
from dissensus.study.reading.columns import Wide, columns_by_shared_labels
from dissensus.study.reading.format import Format, Options
from format_examples import ANNOTATOR_FILES, ARGILLA, COUNTS, DOCCANO, LABEL_STUDIO, PREFLIB, PRODIGY, RECORDS
from rare import rare
from refusals import refused
from shared_data import SHARED, dermatology, needs_shared

CASES = json.loads(Path(__file__).with_name("readings.json").read_text(encoding="utf-8"))
SHARED_EXAMPLES = {**RECORDS, "annotator-files": ANNOTATOR_FILES, "preflib": PREFLIB}
LONG, TREES = "case,annotator,condition,rank\n", "case,label,rank\nc1,oak,1\nc1,elm,2\n"
FRAME = pl.DataFrame({"image": ["c1", "c1"], "diagnosis": ["oak", "elm"], "rank": [1, 2]})
TABLES = {"a.csv": FRAME.write_csv(), "b.tsv": FRAME.write_csv(separator="\t"), "c.parquet": FRAME}
TYPED = pl.DataFrame({"case": [1, 2], "annotator": [7, 8], "condition": ["x", "y"], "rank": [1, 1]})
VOTES = {"format": "counts", "conditions": ["cat", "dog"]}
NAMED = {"conditions": ["cat", "dog", "frog"]}
COUNTED = ["votes of annotators without a name: 3, counted"]
BY_NUMBER = "columns are conditions, numbered from 0, and cells are votes"
RESPONSES = {"dx.responses": ["Eczema", "Tinea"], "dx.responses.status": ["submitted", "draft"]}
SPELT = pl.DataFrame({"case": ["c1", "c2"], "reader": ["A", "A"], "label": ["e\u0301", "\u00e9"]})
ARRAYS: list[dict[str, Any]] = [
    {"file": "a.parquet", "content": SPELT, "names": "\u00e9"},
    {"file": "a.parquet", "content": TYPED, "cases": "1 2", "annotators": "7 8", "rankings": "x | y"},
    {"file": "trees", "content": {**TABLES, "d.json": FRAME.write_json()}, "rankings": "; ".join(["oak>elm"] * 4)},
    {"file": "a.npy", "content": COUNTS, "options": NAMED, "rankings": "cat; cat; frog | ", "notes": COUNTED},
    {"file": "a.npy", "content": COUNTS, "names": "0 1 2", "assumed": BY_NUMBER},
    {"file": "a.npy", "content": COUNTS.astype(float), "options": {"format": "counts"}, "votes": [2, 1]},
]


def put_case(case: dict[str, Any], put: Any) -> Path:
    """Write the file of a case."""
    content = case["content"] if "content" in case else SHARED_EXAMPLES[case["example"]]
    if "change" in case:
        assert case["change"][0] in content
        content = content.replace(*case["change"])
    path: Path = put(content, case["file"])
    return path


def told_by(reading: Reading) -> dict[str, Callable[[], Any]]:
    """What can be expected of a file that was read, each found when it is asked for."""
    said, receipt = reading.study, reading.receipt

    def lists(cases: list[list[Any]], write: Callable[[Any], str]) -> str:
        return " | ".join("; ".join(write(one) or "-" for one in case) for case in cases)

    return {
        "rankings": lambda: lists(said.to_rankings(), lambda one: ">".join(map("=".join, one))),
        "sets": lambda: lists(said.to_sets(), lambda one: "+".join(sorted(one))),
        "mentioned": lambda: " ".join(sorted(name for block in said.to_rankings()[0][0] for name in block)),
        "answers": said.answers.tolist,
        "scores": said.scores.tolist,
        "weights": lambda: pytest.approx(said.weights.tolist()),
        "votes": said.votes.tolist,
        "cases": lambda: " ".join(said.case_names),
        "annotators": lambda: " ".join(said.annotator_names),
        "names": lambda: " ".join(said.conditions),
        "groups": lambda: " ".join(said.groups),
        "case_weights": said.case_weights.tolist,
        "unannotated": lambda: " ".join(said.unannotated),
        "question": lambda: said.question,
        "n": lambda: said.n_rankings,
        "notes": lambda: sorted(map(str, receipt.notes)),
        "found": lambda: [note.found for note in receipt.notes],
        "lost": lambda: [(note.count, str(note)) for note in receipt.lost],
        "unused": lambda: " ".join(receipt.unused),
        "used": lambda: receipt.everything_was_used,
        "format": lambda: receipt.format,
        "columns": lambda: list(map(str, receipt.columns)),
        "column": lambda: list(map(str, receipt.columns)),
        "note": lambda: list(map(str, receipt.notes)),
        "assumed": lambda: receipt.assumed,
        "assumed_all": lambda: list(receipt.assumed),
    }


@pytest.mark.parametrize("case", [*CASES["read"], *ARRAYS], ids=lambda case: case.get("name", case["file"]))
def test_what_is_read(case: dict[str, Any], put: Any) -> None:
    told = told_by(examine(put_case(case, put), **case.get("options", {})))
    for what, wanted in case.items():
        if what in ("note", "column", "assumed"):  # one of several
            assert wanted in told[what]()
        elif what == "lost":
            assert [count for count, _ in told[what]()] == [count for count, _ in wanted]
            assert all(words in note for (_, words), (_, note) in zip(wanted, told[what](), strict=True))
        elif what not in ("name", "file", "content", "example", "change", "options"):
            assert told[what]() == (sorted(wanted) if what == "notes" else wanted), what


@pytest.mark.parametrize(
    ("file", "content", "warning"),
    [
        ("e.json", LABEL_STUDIO, "cancelled annotations"),
        ("r.json", ARGILLA, "'draft': 1, skipped.*'discarded': 1, skipped"),
        ("t.jsonl", PRODIGY, "answers 'reject': 1, skipped.*answers 'ignore': 1, skipped"),
        ("t.jsonl", [{"id": 1, **RESPONSES}], "status 'draft': 1, skipped"),
        ("weather", {**DOCCANO, "notes.txt": "hm"}, r"files with another ending: 1, .* \(for example 'notes.txt'\)"),
        ("soups", {"a.toi": PREFLIB, "README.txt": "about soup"}, "files with another ending: 1, skipped"),
        ("trees", {"ann.csv": TREES, "README.md": "hm", ".DS_Store": "x"}, r"another ending: 1, .* 'README.md'\)"),
    ],
)
def test_what_is_skipped_is_warned_of(file: str, content: Any, warning: str, put: Any) -> None:
    path = put(content, file)
    with pytest.warns(DissensusWarning, match=warning):
        read(path)
    if path.is_dir():
        (path / "old").mkdir()
        lost = {note.found: note.lost for note in examine(path).receipt.notes}
        assert (lost["folders"], lost.get("hidden files", False)) == (True, False)


WRONG_VOTES: list[tuple[Any, str]] = [
    *((np.array([[1, many]]), "too many votes") for many in (np.inf, 2**53 + 3, 2**63 - 1)),
    (np.array([[2**64 - 1]], dtype=np.uint64), "too many votes"),
    *((np.zeros((2, 2), dtype=kind), "numbers in the shape") for kind in ([("a", np.int64)], "M8[s]", np.complex128)),
    *((np.zeros(shape, dtype=np.int64), "counts must be a matrix") for shape in ((), (1, 1, 1))),
    (np.zeros((0, 2), dtype=np.int64), "the table has no rows"),
    (np.array([[1, 1, 1]]), "the number of conditions does not fit"),
]
NO_VOTES = [{"file": "a.npy", "content": one, "options": VOTES, "says": [problem]} for one, problem in WRONG_VOTES]
FLOATS = {"file": "a.npy", "content": COUNTS.astype(float), "says": ["no known format fits"]}


@pytest.mark.parametrize("case", [*CASES["refused"], *NO_VOTES, FLOATS], ids=lambda case: case["file"])
def test_what_is_wrong_is_named_with_its_place(case: dict[str, Any], put: Any) -> None:
    path = put_case(case, put)
    caught = refused("", examine, path, **case.get("options", {}))
    assert [part for part in case["says"] if part not in str(caught)] == []
    assert str(path) in caught.where


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "the list of files is empty"),
        (["."], "a directory is among the files"),
        (["none.csv"], "no such file"),
        (["ann.csv", "notes.txt"], "this is not a table[^$]*notes.txt"),  # none of a list is skipped
    ],
)
def test_a_wrong_list_of_files_is_refused(
    given: list[str], problem: str, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read([put(TREES, "b.csv"), str(put(TREES, "a.csv"))]).annotator_names == ("b", "a")
    monkeypatch.chdir(put(TREES, "ann.csv").parent)
    put("oak", "notes.txt")
    refused(problem, read, given)


def test_formats_that_do_not_exist_or_fit_beside_others_are_named(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(r"unknown format 'wid'[^$]*long, [^$]*did you mean 'wide'\?", read, put(f"{LONG}c1,A,x,1\n"), "wid")
    refused("no checklist says 'none'", read, put("case,annotator,finding\nc1,Ann,AF\n"), "checklist", nothing="none")
    monkeypatch.setattr(Format.family, "_declared", Format.family.known())

    class Greedy(Wide):
        id = "greedy"
        title = "takes everything"

        def recognises(self, source: Source) -> bool:  # noqa: ARG002
            return True

    refused(r"fits several formats[^$]*one of greedy, wide[^$]*--format greedy", read, put("case,Ann\nc1,x\n"))


def test_names_beside_a_matrix_are_used(put: Any) -> None:
    path = put(COUNTS, "votes.npy")
    put("cat\ndog\nfrog\n", "votes.conditions.txt")
    put("x\ny\n", "votes.cases.txt")
    reading = examine(path)
    assert reading.study == Study.from_counts(COUNTS, ["cat", "dog", "frog"], case_names=["x", "y"])
    assert reading.receipt.assumed[:2] == (
        "rows are cases, named by 'votes.cases.txt'",
        "columns are conditions, named by 'votes.conditions.txt', and cells are votes",
    )
    assert read(path, conditions=["a", "b", "c"]).conditions == ("a", "b", "c")
    put("x\n", "votes.cases.txt")
    refused(r"the number of cases does not fit[^$]*votes\.cases\.txt", read, path)


# Lists in tables ----------------------------------------------------------------------------------------


def test_parquet_csv_and_json_lines_agree(put: Any) -> None:
    records = [
        {"id": "c1", "labels": ["oak", "elm"], "annotators": ["ann", "bo"]},
        {"id": "c2", "labels": ["elm"], "annotators": ["bo"]},
        {"id": "c3", "labels": [], "annotators": []},
    ]
    path = put(records, "a.jsonl")
    expected = read(path)
    pl.DataFrame(records).write_parquet(path.with_suffix(".parquet"))
    rows = "".join(f'{one["id"]},"{one["labels"]}","{one["annotators"]}"\n' for one in records)
    assert expected.to_rankings() == [[[["oak"]], [["elm"]]], [[["elm"]]], []]
    assert read(path.with_suffix(".parquet")) == expected
    assert read(put(f"id,labels,annotators\n{rows}", "a.csv")) == expected


def test_a_list_without_annotators_means_what_is_said(put: Any) -> None:
    lines = put([{"id": "c1", "labels": ["oak", "elm"]}], "a.jsonl")
    table = put('id,labels\nc1,"[""oak"", ""elm""]"\n', "a.csv")
    packed = table.with_suffix(".parquet")
    pl.DataFrame({"id": ["c1"], "labels": [["oak", "elm"]]}).write_parquet(packed)
    votes, order, tie = [[["oak"]], [["elm"]]], [[["oak"], ["elm"]]], [[["elm", "oak"]]]
    meanings: dict[Any, Any] = {"votes": votes, "order": order, "tie": tie}
    for path in (lines, table, packed):
        caught = refused("a list of labels can be votes, an order or a tie", read, path)
        assert "['oak', 'elm']" in caught.got
        assert "--lists votes" in caught.advice
        for lists, rankings in meanings.items():
            assert read(path, lists=lists).to_rankings() == [rankings]


def test_codes_in_arrays_of_parquet_need_names(put: Any) -> None:
    frame = pl.DataFrame({"case": ["c1", "c2"], "label": [[0, 2], [1, 1]], "annotator_ids": [["a", "b"], ["a", "b"]]})
    path = put("", "a.csv").with_suffix(".parquet")
    frame.with_columns(pl.col("label").cast(pl.Array(pl.Int64, 2))).write_parquet(path)
    refused("integer labels need a list of conditions", read, path)
    said = read(path, conditions=["oak", "elm", "ash"])
    assert said.to_rankings() == [[[["oak"]], [["ash"]]], [[["elm"]], [["elm"]]]]


# Published files ----------------------------------------------------------------------------------------


PUBLISHED: list[tuple[str, dict[str, Any], tuple[int, int, int], dict[str, float]]] = [
    ("dermxdb/dermxdb_diagnoses.csv", {"tie_separator": "|"}, (630, 5528, 8), {"silent": 59}),
    ("dermatology_ddx/dermatology_selectors.json", {}, (1947, 9602, 0), {"tied %": 15.8, "single %": 54}),
    ("cifar10h/cifar10h-counts.npy", {}, (10_000, 511_000, 0), {"fewest": 47, "most": 63}),
    ("preflib/00016-00000002.toi", {}, (1, 2527, 0), {"tied": 7}),
    ("preflib/00034-00000001.soi", {}, (1, 392, 0), {"tied": 0}),
]


@needs_shared
@pytest.mark.parametrize(("name", "options", "sizes", "facts"), PUBLISHED, ids=[one[0] for one in PUBLISHED])
def test_published_files_hold_what_is_published(name: str, options: Any, sizes: Any, facts: dict[str, float]) -> None:
    said = dermatology() if "ddx" in name else read(SHARED / name, **options)
    assert (said.n_cases, said.n_votes, len(said.annotator_names)) == sizes
    found = {
        "silent": (said.mentions_per_ranking == 0).sum(),
        "tied": said.votes[said.has_tie].sum(),
        "tied %": round(100 * said.has_tie.mean(), 1),
        "single %": round(100 * (said.mentions_per_ranking == 1).mean()),
        "fewest": said.votes_per_case.min(),
        "most": said.votes_per_case.max(),
    }
    assert facts.items() <= found.items()


# Wide tables as people have them ------------------------------------------------------------------------


def is_taken(table: pl.DataFrame) -> bool:
    try:
        Wide().parse(Source(Path("a.csv"), "table", table), Options())
    except DissensusError as error:
        assert "annotators of one question" in error.problem  # noqa: PT017 - either outcome is counted
        return False
    return True


def wide_table(rng: np.random.Generator, sizes: tuple[int, int, int], agreement: float, missing: float) -> pl.DataFrame:
    """Simulate readers who name the truth or something else, frequent conditions more often than rare ones."""
    n_cases, n_readers, n_conditions = sizes
    shares = 1 / np.arange(1, n_conditions + 1)
    shares /= shares.sum()
    truth = rng.choice(n_conditions, n_cases, p=shares)
    other = rng.choice(n_conditions, (n_cases, n_readers), p=shares)
    said = np.where(rng.random((n_cases, n_readers)) < agreement, truth[:, None], other)
    silent = rng.random((n_cases, n_readers)) < missing
    columns = {
        f"reader {reader}": [
            None if s else f"condition {c}" for s, c in zip(silent[:, reader], said[:, reader], strict=True)
        ]
        for reader in range(n_readers)
    }
    return pl.DataFrame(
        {"case": [f"c{case}" for case in range(n_cases)], **columns}, schema_overrides=dict.fromkeys(columns, pl.String)
    )


@pytest.mark.parametrize(("n_cases", "most_refused"), [(10, 0.03), *rare([(20, 0.005), (100, 0.0)])])
def test_wide_tables_of_real_studies_are_taken(n_cases: int, most_refused: float) -> None:
    rng = np.random.default_rng(n_cases)
    designs = list(product((3, 5, 10), (2, 5, 20, 100, 400), (0.4, 0.6, 0.8), (0.0, 0.3)))
    taken = [
        is_taken(wide_table(rng, (n_cases, readers, conditions), agreement, missing))
        for readers, conditions, agreement, missing in designs
    ]
    assert 1 - np.mean(taken) <= most_refused


def test_a_single_label_in_common_does_not_make_an_annotator() -> None:
    remarks = pl.Series([*(f"remark {number}" for number in range(30)), "a"])
    heard = {"Ann": pl.Series([*"abab"]), "Bo": pl.Series([*"baab"]), "comment": remarks}
    assert columns_by_shared_labels(heard, set()) == [["Ann", "Bo"], ["comment"]]


@pytest.mark.parametrize("added", ["age", "sex", "comment"])
def test_a_column_of_something_else_is_always_found(added: str) -> None:
    rng = np.random.default_rng(3)
    others = {
        "age": lambda case: str(20 + case),
        "sex": lambda case: "fm"[case % 2],
        "comment": lambda case: f"remark number {case}",
    }
    for conditions in (2, 20, 400):
        table = wide_table(rng, (40, 3, conditions), 0.6, 0.1)
        column = pl.Series(added, [others[added](case) for case in range(40)])
        assert is_taken(table)
        assert not is_taken(table.with_columns(column))


# Receipts --------------------------------------------------------------------------------------------


READINGS = json.loads(Path(__file__).with_name("readings.json").read_text(encoding="utf-8"))
LINES = [{"case_id": "c1", "ranked": ["x", ["y", "z"]], "epoch": 3}]


def test_everything_was_used_only_if_it_was(put: Any) -> None:
    assert examine(put("case,annotator,label,rank\nc,A,x,1\n")).receipt.everything_was_used
    assert not examine(put("case,annotator,label,rank,site\nc,A,x,1,arm\n")).receipt.everything_was_used
    task = {"id": 1, "annotations": [{"completed_by": 3, "result": [], "was_cancelled": True}], "data": {}}
    receipt = examine(put([task], "a.json"), conditions=["x"]).receipt
    assert [note.found for note in receipt.lost] == ["cancelled annotations"]
    assert not receipt.everything_was_used


def test_examples_are_the_first_middle_and_last_case_with_an_order(put: Any) -> None:
    lines = "".join(f"c{case},Ann,x,1\nc{case},Bo,x,1\nc{case},Bo,y,2\nc{case},Bo,z,2\n" for case in range(9))
    receipt = examine(put(f"case,annotator,label,rank\n{lines}")).receipt
    assert receipt.examples == tuple(f"annotator Bo on case c{case} said: x, then y and z tied" for case in (0, 4, 8))
    said = Study.from_rankings([[[]], [], [[["a"]]]], ["a", "b"])
    assert said.examples() == ("an annotator on case 2 said: a",)
    assert Study.from_rankings([[]], ["a"]).examples() == Study.from_scores([[]]).examples() == ()


def test_studies_and_predictions_keep_their_receipt_and_are_compared_without_it(put: Any) -> None:
    said = read(put("case,annotator,label,rank\nc1,A,x,1\nc2,A,y,1\n"))
    built = Study.from_rankings([[[["x"]]], [[["y"]]]], case_names=["c1", "c2"], annotator_names=["A"])
    assert said == built
    assert built.receipt is None is not said.receipt
    for other in (
        said.select(["c2"]),
        said.with_conditions(["y", "x"]),
        said.with_unranked("unobserved"),
        pickle.loads(pickle.dumps(said)),
        Study.concatenate([said.select(["c1"]), said.select(["c2"])]),
    ):
        assert other.receipt == said.receipt
    assert Study.concatenate([said.select(["c1"]), built.select(["c2"])]).receipt is None
    reading = examine_predictions(put(LINES, "A.jsonl"))
    kept = reading.predictions.select(["c1"]).rename("B").align(["c1"], ["z", "y", "x"])
    assert kept.receipt == pickle.loads(pickle.dumps(kept)).receipt == reading.receipt


@pytest.mark.parametrize("case", READINGS["predictions"], ids=lambda case: case["file"])
def test_what_is_understood_of_predictions(case: dict[str, Any], put: Any) -> None:
    content = case["content"]
    if case["file"].endswith((".npy", ".npz")):
        content = {k: np.array(v) for k, v in content.items()} if isinstance(content, dict) else np.array(content)
    receipt = examine_predictions(put(content, case["file"]), **case["options"]).receipt
    assert {column.name: column.role for column in receipt.columns} == case["roles"]
    assert (list(receipt.assumed), list(receipt.examples)) == (case["assumed"], case["examples"])
    reasons = {column.name: column.reason for column in receipt.columns}
    assert reasons.get("name", "as the first column") == "as the first column"
    assert reasons.get("score", "the predictions are read as ranking") == "the predictions are read as ranking"
