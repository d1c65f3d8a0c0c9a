"""What names hold is shown and never obeyed by the terminal, and no terminal is too simple for a command."""

import csv
import io
import os
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest

import dissensus as ds
from command_calls import told
from dissensus.core.screen import visible

HOSTILE = "\x1b[31m{}\x07\n\u202e\u200b\x9bm\t\x7f"
"""A name that would colour the terminal, ring, break the line, turn the writing and hide."""

FILE = HOSTILE.format("opinions") + ".csv"
MODELS = (HOSTILE.format("Aster"), HOSTILE.format("Birch"))
CASES = tuple(HOSTILE.format(name) for name in ("x", "y", "z"))
CONDITIONS = tuple(HOSTILE.format(name) for name in ("Eczema", "Tinea", "Lupus"))


def table(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def hidden(text: str) -> set[str]:
    """Name the characters that a terminal would obey or hide, apart from ends of lines."""
    return {sign for sign in text if sign != "\n" and unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    header = ["case", "annotator", "condition", "rank", HOSTILE.format("unused")]
    said = [[case, HOSTILE.format(f"reader {i}"), CONDITIONS[i % 3], 1, 1] for i in range(4) for case in CASES]
    silent: list[object] = [HOSTILE.format("silent"), "", "", "", ""]
    Path(FILE).write_text(table([header, *said, silent]), encoding="utf-8", newline="")
    scores = [[case, *(0.5, 0.3, 0.2)] for case in (*CASES, HOSTILE.format("silent"))]
    for model in MODELS:
        Path(f"{model}.csv").write_text(table([["case", *CONDITIONS], *scores]), encoding="utf-8", newline="")
    risks = [["condition", "category"], *([name, HOSTILE.format("risk")] for name in CONDITIONS[:2])]
    Path("risks.csv").write_text(table([*risks, [CONDITIONS[2], "low"]]), encoding="utf-8", newline="")
    return tmp_path


EVALUATE = (
    *("evaluate", FILE, "--out", "results", "--draws", "40", "--aggregation", "dirichlet:1,3", "--no-report"),
    *("--categories", "risks.csv", "--metric", "top-k-accuracy:1"),
    *(word for model in MODELS for word in ("--predictions", f"{model}.csv")),
)


DRAWN = (FILE, "--draws", "40", "--aggregation", "dirichlet")
OUT = ("--out", HOSTILE.format("out") + ".csv", "--overwrite")


@pytest.mark.usefixtures("folder")
def test_no_name_reaches_the_terminal_raw() -> None:
    commands: list[tuple[str, ...]] = [
        ("validate", FILE),
        ("validate", FILE, "--json"),
        ("convert", FILE, HOSTILE.format("out") + ".csv"),
        ("certainty", *DRAWN, *OUT),
        ("certainty", *DRAWN, "--categories", "risks.csv"),
        ("aggregate", *DRAWN, *OUT),
        EVALUATE,
        ("compare", "results"),
        ("report", "results", "--out", HOSTILE.format("page") + ".html", "--title", HOSTILE),
        ("plot", "results", "--list"),
        ("plot", "results", "reliability", "--out", HOSTILE.format("figure") + ".html"),
    ]
    for words in commands:
        outcome = told(Path.cwd(), *words)
        text = outcome.out + outcome.err
        assert outcome.code == 0, text
        assert hidden(text) == set(), words
        assert "1b[31m" in text or words[0] == "plot", "the name is not shown at all"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ("validate", HOSTILE),
        ("validate", FILE, "--column", HOSTILE),
        ("validate", FILE, "--column", f"condition={HOSTILE}"),
        ("validate", FILE, "--format", HOSTILE),
        ("certainty", FILE, "--categories", HOSTILE),
        ("aggregate", FILE, "--out", f"{HOSTILE}/out.csv", "--draws", "4", "--aggregation", "dirichlet"),
        ("aggregate", FILE, "--out", "out.csv", "--aggregation", HOSTILE),
        ("evaluate", FILE, "--out", "results", "--predictions", f"{HOSTILE}={HOSTILE}"),
        ("compare", HOSTILE),
        ("report", HOSTILE),
        ("plot", HOSTILE, "--list"),
        (HOSTILE,),
        (f"--{HOSTILE}",),
        ("validate", FILE, f"--{HOSTILE}"),
        ("validate", FILE, FILE),
    ],
    ids=lambda words: " ".join(map(visible, words)),
)
def test_errors_show_names_as_they_are(words: tuple[str, ...]) -> None:
    outcome = told(Path.cwd(), *words)
    assert outcome.code == 2
    assert hidden(outcome.out + outcome.err) == set()


@pytest.mark.filterwarnings("always")
def test_warnings_are_one_visible_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(**_: object) -> None:
        warnings.warn(f"look at {HOSTILE}", ds.DissensusWarning, stacklevel=1)

    monkeypatch.setattr("dissensus.cli.app.app", warn)
    outcome = told(Path.cwd())
    assert (outcome.code, hidden(outcome.err)) == (0, set())
    assert outcome.err.startswith("warning: look at \\x1b[31m")
    assert outcome.err.count("\n") == 1


def test_only_what_hides_is_escaped() -> None:
    for raw, seen in (
        ("Ekzem, 湿疹 \u3000 é", "Ekzem, 湿疹 \u3000 é"),
        ("a\x1bb\r\n", "a\\x1bb\\r\\n"),
        ("\u2028\u202e\u200b\ufeff", "\\u2028\\u202e\\u200b\\ufeff"),
        ("\udc80\U000e0041", "\\udc80\\U000e0041"),
    ):
        assert visible(raw) == seen


# Simple terminals ---------------------------------------------------------------------------------------


ASCII = {"PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def on_a_simple_terminal(folder: Path, *words: str, given: tuple[str, ...] = tuple(ASCII)) -> tuple[int, bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in ASCII}
    environment |= {**{name: ASCII[name] for name in given}, "COLUMNS": "200"}
    command = [sys.executable, "-c", "from dissensus.cli import main; main()", *words]
    outcome = subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=False)
    return outcome.returncode, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    "given",
    [tuple(ASCII), pytest.param(("LANG", "LC_ALL", "PYTHONUTF8", "PYTHONCOERCECLOCALE"), marks=pytest.mark.slow)],
)
def test_an_ascii_terminal_gets_ascii(given: tuple[str, ...], tmp_path: Path) -> None:
    said = "case,annotator,condition\nä,é,湿疹\nä,b,Lupus\n"
    (tmp_path / "a.csv").write_text(said, encoding="utf-8")
    (tmp_path / "m.csv").write_text("case,湿疹,Lupus\nä,0.6,0.4\n", encoding="utf-8")
    models = ("--predictions", "m.csv", "--predictions", "B=m.csv")
    evaluated = ("evaluate", "a.csv", *models, "--out", "results", "--no-report")
    commands = [(*evaluated, "--draws", "20", "--aggregation", "dirichlet"), ("validate", "ä.csv")]
    for words in commands:
        code, text = on_a_simple_terminal(tmp_path, *words, given=given)
        assert code == (2 if words[-1] == "ä.csv" else 0), text.decode("utf-8", "replace")
        assert text.isascii(), text.decode("utf-8", "replace")
        assert b"Traceback" not in text
