"""The command line as a person meets it: what it prints, and how it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings

import dissensus as ds
from command_calls import Outcome, exit_code
from dissensus.cli.app import app
from strategies import studies

HEADER = "case,annotator,condition,rank\n"
GOOD = HEADER + (
    "c1,Ann,Eczema,1\nc1,Ann,Tinea,2\nc1,Bo,Eczema,1\nc1,Bo,Lupus,1\nc2,Bo,,\nc3,,,\nc4,Bo,eczema,1\nc4,Bo,Acne,2\n"
)


def put(text: str | bytes, name: str = "opinions.csv") -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def refused(outcome: Outcome, *parts: str) -> None:
    """Expect one block on standard error, nothing on standard output, exit code 2 and no traceback."""
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert "Traceback" not in outcome.err
    lines = outcome.err.rstrip("\n").split("\n")
    assert all(line.startswith(("  expected: ", "  got: ", "  where: ", "  do: ")) for line in lines[1:])
    for part in parts:
        assert part in outcome.err, outcome.err


# Good input ---------------------------------------------------------------------------------------------


def test_validate_prints_a_diagnosis(run: Any) -> None:
    outcome = run("validate", put(GOOD))
    assert outcome.code == 0
    words = " ".join(outcome.out.split())
    for part in (
        "opinions.csv: read as long",
        "cases 4",
        "rankings 4",
        "conditions 5, of which 5 mentioned",
        "annotators per case 0 to 2, median 1, mean 1.00",
        "rankings with one condition 0 (0.0 %)",
        "rankings with a tie 1 (33.3 %), largest block 2",
        "! 1 abstention",
        "! 2 unannotated cases: kept, excluded from aggregation ('c2', 'c3')",
        "'Eczema' and 'eczema' look alike",
        "everything was used",
    ):
        assert part in words


def test_validate_shows_the_receipt_whole_in_80_columns(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = "image,reader,label,site\n" + "".join(
        f"p{case},Ann,{label},arm\n" for case in range(4) for label in ("Melanoma", "Nevus")
    )
    outcome = run("validate", put(text))
    assert max(map(len, outcome.out.splitlines())) <= 80
    words = " ".join(outcome.out.split())
    for part in (
        "columns case 'image' by its name annotator 'reader' by its name condition 'label' by its name not used 'site'",
        "assumed there is no rank and no confidence: the conditions that an annotator gives on a case are tied",
        "for example annotator Ann on case p0 said: Melanoma and Nevus tied",
        "everything else was used",
    ):
        assert part in words
    assert len(json.loads(run("validate", put(text), "--json").out)["receipt"]["examples"]) == 3


@pytest.mark.parametrize(
    "words",
    [("aggregate", "--out", "soft.csv", "--draws", "20"), ("certainty", "--draws", "20"), ("convert", "out.csv")],
)
def test_other_commands_tell_the_receipt_in_a_few_lines(run: Any, words: tuple[str, ...]) -> None:
    file = put("case,annotator,label,site\nc1,Ann,x,arm\nc1,Ann,y,arm\nc2,Bo,z,leg\n")
    own = () if words[0] == "convert" else ("--aggregation", "dirichlet")
    outcome = run(words[0], file, *words[1:], *own)
    assert outcome.code == 0, outcome.err
    lines = outcome.err.splitlines()
    start = lines.index("opinions.csv: read as long (recognised)")
    assert lines[start + 1 : start + 3] == [
        "  case: 'case'; annotator: 'annotator'; condition: 'label'",
        "  not used: 'site'",
    ]
    assert lines[start + 3].startswith("  assumed: there is no rank and no confidence")
    assert sum(line.startswith("  ") for line in lines[start:]) <= 5


def test_columns_are_ignored_as_said(run: Any) -> None:
    file = put("case,annotator,label,Rang\nc1,Ann,x,1\nc1,Ann,y,2\n")
    refused(run("validate", file), "'Rang' holds numbers and has no role", "--column rank=Rang", "--ignore Rang")
    assert "not used 'Rang' ignored, as said" in " ".join(run("validate", file, "--ignore", "Rang").out.split())
    assert run("validate", file, "--column", "rank=Rang").code == 0
    refused(run("validate", file, "--ignore", "Rank"), "no column 'Rank' to ignore", "did you mean 'Rang'?")


def test_validate_for_machines_is_json_with_the_same_numbers(run: Any) -> None:
    found = json.loads(run("validate", put(GOOD), "--json").out)
    assert found["file"] == "opinions.csv"
    assert found["receipt"]["format"] == "long"
    assert (found["cases"], found["rankings"], found["conditions"], found["abstentions"]) == (4, 4, 5, 1)
    assert found["unannotated_cases"] == ["c2", "c3"]
    assert found["annotators_per_case"] == {"least": 0, "median": 1.0, "most": 2, "mean": 1.0}
    assert found["similar_conditions"] == [["Eczema", "eczema"]]
    assert found["receipt"]["notes"] == []
    assert found["receipt"]["everything_was_used"]


def test_validate_tells_what_was_done_with_odd_rows(run: Any) -> None:
    text = "case,annotator,condition,confidence,age\nc1,A,x,5,40\nc1,A,y,0,40\nc1,A,z,,40\n"
    outcome = run("validate", put(text))
    assert "rows with confidence 0 or missing: 2, kept as not mentioned" in outcome.out
    assert "everything else was used" in outcome.out
    receipt = json.loads(run("validate", put(text), "--json").out)["receipt"]
    assert [note["count"] for note in receipt["notes"]] == [2]
    assert receipt["columns"][4] == {"name": "age", "role": "", "reason": ""}


def test_names_are_never_taken_for_markup(run: Any) -> None:
    outcome = run("validate", put(HEADER + "[bold]c1[/bold],,,\n[/red],A,[link=x]y,1\n"))
    assert outcome.code == 0
    assert "'[bold]c1[/bold]'" in outcome.out
    refused(run("validate", put(HEADER + "[/red],A,[b]x,0\n")), "case '[/red]'")


def test_validate_understands_ratings(run: Any) -> None:
    text = "case,annotator,score\nc1,A,3\nc1,B,5\nc1,B,4\nc2,A,\n"
    words = " ".join(run("validate", put(text)).out.split())
    for part in ("read as ratings", "cases 2", "ratings 3", "scores 3 to 5, mean 4", "'c2'"):
        assert part in words
    found = json.loads(run("validate", put(text), "--json").out)
    assert (found["ratings"], found["highest"], found["repeated_ratings"]) == (3, 5.0, 1)
    stars = put(text.replace("score", "stars"), "stars.csv")
    assert json.loads(run("validate", stars, "--column", "score=stars", "--json").out)["ratings"] == 3
    refused(run("convert", put(text), "out.csv"), "ratings, not rankings")
    empty = json.loads(run("validate", put("case,score\nc1,\n"), "--json").out)
    assert empty["mean"] is None


def test_options_say_what_a_file_does_not(run: Any) -> None:
    put("cat\ndog\n", "names.txt")
    labels = put("photo,Ann,Bo\np1,0,1\n", "codes.csv")
    found = json.loads(run("validate", labels, "--column", "case=photo", "--conditions", "names.txt", "--json").out)
    assert (found["receipt"]["format"], found["cases"], found["conditions"]) == ("cleanlab", 1, 2)
    tied = put("task,worker,label\nt,w,a|b\n", "tied.csv")
    found = json.loads(run("validate", tied, "--tie-separator", "|", "--unranked", "unobserved", "--json").out)
    assert (found["largest_tie"], found["unranked"]) == (2, "unobserved")
    found = json.loads(run("validate", tied, "--format", "long", "--json").out)
    assert (found["receipt"]["format"], found["receipt"]["is_given"]) == ("long", True)


def test_convert_there_and_back_loses_nothing(run: Any) -> None:
    first = put(GOOD)
    said = ds.read(first)
    for source, target in ((first, "a.parquet"), ("a.parquet", "b.jsonl"), ("b.jsonl", "c.tsv"), ("c.tsv", "d.csv")):
        outcome = run("convert", source, target)
        assert outcome.code == 0
        assert f"-> {target}: 4 cases, 4 rankings" in outcome.out
        assert ds.read(target) == said
    assert Path("d.csv").read_text().count("\n") > GOOD.count("\n")


@settings(max_examples=15)
@given(said=studies())
def test_convert_loses_nothing_of_any_study(tmp_path_factory: pytest.TempPathFactory, said: ds.Study) -> None:
    folder = tmp_path_factory.mktemp("study")
    ds.write(said, folder / "a.csv")
    with pytest.MonkeyPatch.context() as patch:
        for source, target in (("a.csv", "b.jsonl"), ("b.jsonl", "c.parquet"), ("c.parquet", "d.csv")):
            patch.setattr(sys, "argv", ["dissensus", "convert", str(folder / source), str(folder / target)])
            assert exit_code() == 0
    assert ds.read(folder / "d.csv") == said
    assert (folder / "d.csv").read_bytes() == (folder / "a.csv").read_bytes()


COMMANDS = [str(command.name or command.callback.__name__) for command in app.registered_commands if command.callback]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_shows_an_example(run: Any, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert f"dissensus {command}" in outcome.out.partition("Example")[2]


def test_help_lists_the_commands_and_an_example(run: Any) -> None:
    outcome = run("--help")
    assert "dissensus validate opinions.csv" in outcome.out
    assert {"demo", "validate", "convert", *COMMANDS} <= set(outcome.out.split())
    assert run().out.split("\n")[1:3] == outcome.out.split("\n")[1:3]


def test_version(run: Any) -> None:
    from importlib.metadata import version

    assert run("--version").out == f"dissensus {version('dissensus')}\n"


# Bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("photo,annotator,condition\np,A,x\n", ["no case column", "'photo'", "--column case=NAME"]),
        (HEADER + "c1,A,x,1\nc1,A,x,2\n", ["'x' is mentioned twice", "case 'c1', annotator 'A'"]),
        (HEADER + "c1,A,x,first\n", ["a rank is not a number", "'first'", "data row 1"]),
        (HEADER + "c1,A,x,nan\n", ["a rank is not a positive number", "nan"]),
        (HEADER + "c1,A,x,0\n", ["a rank is not a positive number", "1 for the best"]),
        (HEADER + "c1,A,x,-1\n", ["a rank is not a positive number", "-1"]),
        (HEADER + "c1,A,x,\n", ["a rank is not a positive number", "nothing"]),
        ("case,annotator,condition,confidence\nc,A,x,NaN\n", ["a confidence is not a number", "nan"]),
        ("case,annotator,condition,confidence\nc,A,x,-1\n", ["a confidence is not a number", "-1"]),
        ("", ["the file is empty"]),
        (HEADER, ["the table has a header but no rows", "at least one row of data"]),
        (b"case,condition\nc1,caf\xe9\n", ["not UTF-8", "0xe9", "line 2", "CSV UTF-8"]),
        (HEADER + 'c1,A,"x,1\n', ["a quotation mark is not closed", "from line 2"]),
        (HEADER + "c1,A,x,1,9\n", ["more cells than the header", "5 cells", "line 2"]),
        ("case,Ann\nc1,x\nc1,y\n", ["case 'c1' stands in several rows", "rows 1 and 2"]),
        ("case,annotator,condition\nc1,A,3\n", ["integer labels need a list of conditions", "--conditions FILE"]),
        ("x\n1\n", ["no known format fits", "label-studio, long, nested", "--format"]),
    ],
)
def test_a_bad_file_is_refused_in_one_block(run: Any, text: str | bytes, parts: list[str]) -> None:
    refused(run("validate", put(text)), "opinions.csv", *parts)


def test_repeated_mentions_are_left_out_as_said(run: Any) -> None:
    path = put(HEADER + "c1,A,x,2\nc1,A,y,1\nc1,A,x,1\n")
    refused(run("validate", path), "1 repeated mention in 1 ranking", "--duplicates first")
    outcome = run("validate", path, "--duplicates", "best")
    assert outcome.code == 0
    assert "repeated mentions of a condition: 1, left out, the mention with the best rank" in " ".join(
        outcome.out.split()
    )
    refused(
        run("validate", path, "--duplicates", "last"), "duplicates is not understood", "'refuse' or 'first' or 'best'"
    )


def test_a_directory_with_a_file_per_annotator_is_read(run: Any) -> None:
    Path("people").mkdir()
    put("case,label\nc1,x\n", "people/ann.csv")
    put('{"c1": "y"}', "people/bo.json")
    outcome = run("validate", "people")
    assert outcome.code == 0
    assert "annotator-files" in outcome.out
    put("case,finding\nc1,x\n", "people/cy.csv")
    refused(run("validate", "people"), "no condition column", "people/cy.csv", "--column condition=NAME")


def test_json_of_two_levels_needs_a_word(run: Any) -> None:
    path = put('{"ann": {"c1": "x"}, "bo": {"c1": "y"}}', "a.json")
    refused(run("validate", path), "can be annotators or cases", "annotator 'ann' said 'x' on case 'c1'")
    assert run("validate", path, "--format", "annotator-json").code == 0


def test_lists_in_cells_need_annotators_or_a_word(run: Any) -> None:
    path = put("id,labels\nc1,\"['x', 'y']\"\n")
    refused(run("validate", path), "can be votes, an order or a tie", "--lists votes")
    assert run("validate", path, "--lists", "order").code == 0
    refused(run("validate", path, "--lists", "sets"), "lists is not understood", "'votes' or 'order' or 'tie'")


def test_confidences_share_a_vote_as_said(run: Any) -> None:
    path = put("case,annotator,condition,confidence\nc1,A,x,1\nc1,A,y,3\n")
    assert run("convert", path, "shared.csv", "--confidence", "share").code == 0
    assert Path("shared.csv").read_text(encoding="utf-8").splitlines()[-1] == "c1,2,A,x,1,0.25"
    refused(run("validate", path, "--confidence", "votes"), "confidence is not understood", "'order' or 'share'")


def test_an_unknown_condition_gets_a_suggestion(run: Any) -> None:
    put("Eczema\nTinea\n", "names.txt")
    outcome = run("validate", put(HEADER + "c1,A,Eczma,1\n"), "--conditions", "names.txt")
    refused(outcome, "unknown condition 'Eczma'", "did you mean 'Eczema'?", "data row 1, case 'c1'")


def test_damaged_files_are_refused(run: Any) -> None:
    pl.DataFrame({"case": ["x"], "condition": ["y"]}).write_parquet("whole.parquet")
    cut = put(Path("whole.parquet").read_bytes()[:-20], "cut.parquet")
    refused(run("validate", cut), "Parquet file is damaged or cut off", "again")
    refused(run("validate", put('[{"id": "1", "lab', "cut.json")), "the JSON is cut off", "line 1")


def test_paths_that_lead_nowhere_are_refused(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(GOOD)
    refused(run("validate", "opinion.csv"), "there is no such file", "did you mean 'opinions.csv'?")
    Path("folder").mkdir()
    refused(run("validate", "folder"), "no known format fits", "a directory with 0 files")
    refused(run("validate", "opinions.csv", "--conditions", "folder"), "is a directory")
    put("\n \n", "names.txt")
    refused(run("validate", "opinions.csv", "--conditions", "names.txt"), "empty")
    monkeypatch.setattr(os, "access", lambda *_: False)
    refused(run("validate", "opinions.csv"), "cannot be read", "permission denied", "check")


def test_options_that_make_no_sense_are_refused(run: Any) -> None:
    good = put(GOOD)
    refused(run("validate", good, "--format", "lon"), "unknown format 'lon'", "did you mean 'long'?")
    refused(run("validate", good, "--column", "cse=x"), "--column is not understood", "did you mean 'case'?")
    refused(run("validate", good, "--column", "case"), "--column is not understood", "ROLE=NAME")
    refused(run("validate", good, "--column", "case=cas"), "no column 'cas'", "did you mean 'case'?")
    refused(run("validate", good, "--unranked", "last"), "unranked is not understood", "'below'")
    refused(run("validate", good, "--tie-separator", ""), "tie separator is empty")


def test_places_that_cannot_be_written_are_refused(run: Any) -> None:
    good = put(GOOD)
    refused(run("convert", good, "out.xlsx"), "ending of the output file", ".parquet", "'.xlsx'")
    refused(run("convert", good, "nowhere/out.csv"), "directory to write into does not exist", "nowhere")
    Path("folder.csv").mkdir()
    refused(run("convert", good, "folder.csv", "--overwrite"), "something else already", "folder.csv")
    refused(run("convert", good, "out.json"), "nested lists cannot hold", ".jsonl")
    assert sorted(os.listdir()) == ["folder.csv", "opinions.csv"]  # noqa: PTH208 - hidden files count


def test_a_refused_input_leaves_the_output_alone(run: Any) -> None:
    put("precious", "out.csv")
    refused(run("convert", put(HEADER + "c1,A,x,0\n"), "out.csv", "--overwrite"), "rank")
    assert Path("out.csv").read_text() == "precious"


def test_wrong_usage_is_explained(run: Any) -> None:
    for words in (["validate"], ["validat", "x"], ["validate", "x", "--formt", "y"]):
        outcome = run(*words)
        assert outcome.code == 2
        assert "Usage: dissensus" in outcome.err
        assert "Traceback" not in outcome.err


# As a process -------------------------------------------------------------------------------------------


def process(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = "from dissensus.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *words], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_process_prints_one_block_and_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "opinions.csv").write_text(HEADER + "c1,A,x,0\n")
    outcome = process("validate", "opinions.csv", folder=tmp_path)
    refused(Outcome(outcome.returncode, outcome.stdout, outcome.stderr), "a rank is not a positive number")


def test_a_process_converts(tmp_path: Path) -> None:
    (tmp_path / "opinions.csv").write_text(GOOD)
    outcome = process("convert", "opinions.csv", "out.parquet", folder=tmp_path)
    assert outcome.returncode == 0
    assert outcome.stderr.startswith("opinions.csv: read as long (recognised)")
    assert ds.read(tmp_path / "out.parquet") == ds.read(tmp_path / "opinions.csv")
