"""The command line as a person meets it: what it prints, and how it refuses."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from dissensus.cli.app import app

HEADER = "case,annotator,condition,rank\n"
GOOD = HEADER + (
    "c1,Ann,Eczema,1\nc1,Ann,Tinea,2\nc1,Bo,Eczema,1\nc1,Bo,Lupus,1\nc2,Bo,,\nc3,,,\nc4,Bo,eczema,1\nc4,Bo,Acne,2\n"
)


def put(text: str | bytes, name: str = "opinions.csv") -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


# Good input ---------------------------------------------------------------------------------------------


def test_validate_prints_a_diagnosis(run: Any) -> None:
    outcome = run("validate", put(GOOD)).done()
    words = " ".join(outcome.out.split())
    for part in (
        *("opinions.csv: read as long", "cases 4", "rankings 4", "conditions 5, of which 5 mentioned"),
        *("annotators per case 0 to 2, median 1, mean 1.00", "rankings with one condition 0 (0.0 %)", "! 1 abstention"),
        *("rankings with a tie 1 (33.3 %), largest block 2", "'Eczema' and 'eczema' look alike", "everything was used"),
        "! 2 unannotated cases: kept, excluded from aggregation ('c2', 'c3')",
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
        "columns: case: 'image' (by its name); annotator: 'reader' (by its name); condition: 'label' (by its name);",
        "not used: 'site'",
        "assumed: there is no rank and no confidence: the conditions that an annotator gives on a case are tied",
        "for example: annotator Ann on case p0 said: Melanoma and Nevus tied",
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
    outcome = run(words[0], file, *words[1:], *own).done()
    lines = outcome.err.splitlines()
    start = lines.index("opinions.csv: read as long (recognised)")
    assert lines[start + 1 : start + 3] == [
        "  case: 'case'; annotator: 'annotator'; condition: 'label'",
        "  not used: 'site'",
    ]
    assert lines[start + 3].startswith("  assumed: there is no rank and no confidence")
    assert sum(line.startswith("  ") for line in lines[start:]) <= 5


def test_validate_understands_ratings(run: Any) -> None:
    text = "case,annotator,score\nc1,A,3\nc1,B,5\nc1,B,4\nc2,A,\n"
    words = " ".join(run("validate", put(text)).out.split())
    assert all(part in words for part in ("read as ratings", "ratings 3", "scores 3 to 5, mean 4", "'c2'"))
    found = json.loads(run("validate", put(text), "--json").out)
    assert (found["ratings"], found["highest"], found["repeated_ratings"]) == (3, 5.0, 1)
    assert run("convert", put(text), "out.csv").refused("ratings, not rankings")
    assert json.loads(run("validate", put("case,score\nc1,\n"), "--json").out)["mean"] is None


COMMANDS = [str(command.name or command.callback.__name__) for command in app.registered_commands if command.callback]


def test_help_shows_examples_and_every_command(run: Any) -> None:
    for command in COMMANDS:
        short, whole = run(command, "--help").out, run(command, "--help-all").out
        assert f"dissensus {command}" in short.partition("Examples:")[2]
        assert len(short.splitlines()) <= len(whole.splitlines())
        assert "--json" in short
        assert "--quiet" in short
    outcome = run("--help")
    assert "dissensus validate opinions.csv" in outcome.out
    assert {"demo", "validate", "convert", *COMMANDS} <= set(outcome.out.split())
    assert outcome.out.split("\n")[2] in run().err
    assert run("--version").out == f"dissensus {version('dissensus')}\n"


# Bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("photo,annotator,condition\np,A,x\n", ["no case column", "'photo'", "--column case=NAME"]),
        (HEADER + "[/red],A,[b]x,0\n", ["a rank is not a positive number", "1 for the best", "case '[/red]'"]),
        (b"case,condition\nc1,caf\xe9\n", ["not UTF-8", "0xe9", "line 2", "CSV UTF-8"]),
        (HEADER + "c1,A,x,2\nc1,A,y,1\nc1,A,x,1\n", ["1 repeated mention in 1 ranking", "--duplicates first"]),
        ("case,annotator,label,Rang\nc1,Ann,x,1\nc1,Ann,y,2\n", ["--column rank=Rang", "--ignore Rang"]),
    ],
)
def test_a_bad_file_is_refused_in_one_block_and_the_output_stays(run: Any, text: str | bytes, parts: list[str]) -> None:
    put("precious", "out.csv")
    assert run("validate", put(text)).refused("opinions.csv", *parts)
    assert run("convert", put(text), "out.csv", "--overwrite").refused(*parts)
    assert Path("out.csv").read_text() == "precious"


def test_a_column_to_ignore_is_ignored_in_predictions_and_truth_too(run: Any) -> None:
    opinions = put(
        "case,annotator,label,note\n" + "".join(f"c{i},{who},{'xy'[i % 2]},?\n" for i in range(4) for who in "AB")
    )
    put("case,x,y,note\n" + "".join(f"c{i},0.7,0.3,?\n" for i in range(4)), "a.csv")
    put("case,label,note\n" + "".join(f"c{i},x,?\n" for i in range(4)), "truth.csv")
    words = ["evaluate", opinions, "--predictions", "A=a.csv", "--truth", "truth.csv", "--draws", "20", "--no-report"]
    outcome = run(*words, "--out", "without")
    assert outcome.code == 2
    assert "a.csv, columns 'note'" in outcome.err
    assert run(*words, "--out", "r", "--ignore", "note").code == 0


def test_each_option_reaches_the_reader(run: Any) -> None:
    good = put(HEADER + "c1,A,Eczma,1\n")
    put(b"\xef\xbb\xbfEczema\r\n\r\n Tinea \r\n", "names.txt")
    put("\n \n", "blank.txt")
    Path("folder").mkdir()
    for words, *parts in (
        (["--format", "lon"], "unknown format 'lon'", "did you mean 'long'?"),
        (["--column", "cse=x"], "--column is not understood", "did you mean 'case'?"),
        (["--column", "case"], "--column is not understood", "ROLE=NAME"),
        (["--column", "case=cas"], "no column 'cas'", "did you mean 'case'?"),
        (["--ignore", "rang"], "no column 'rang' to ignore", "did you mean 'rank'?"),
        (["--unranked", "last"], "unranked is not understood", "'below'"),
        (["--tie-separator", ""], "tie separator is empty"),
        (["--duplicates", "last"], "duplicates is not understood", "'refuse' or 'first' or 'best'"),
        (["--confidence", "votes"], "confidence is not understood", "'order' or 'share'"),
        (["--conditions", "folder"], "is a directory"),
        (["--conditions", "blank.txt"], "empty"),
        (["--conditions", "names.txt"], "unknown condition 'Eczma'", "did you mean 'Eczema'?", "data row 1, case 'c1'"),
    ):
        assert run("validate", good, *words).refused(*parts)
    lists = put("id,labels\nc1,\"['x', 'y']\"\n")
    assert run("validate", lists, "--lists", "sets").refused("lists is not understood", "'votes' or 'order' or 'tie'")


def test_wrong_usage_is_explained(run: Any) -> None:
    for words in (["validate"], ["validat", "x"], ["validate", "x", "--formt", "y"]):
        outcome = run(*words)
        assert outcome.code == 2
        assert "Usage: dissensus" in outcome.err
        assert "Traceback" not in outcome.err
