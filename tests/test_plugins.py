"""A package that is installed adds an aggregation, a metric, a format and a report section: the skeletons of
CONTRIBUTING.md, one file each, seen from Python, on the command line, in the methods text and in the report."""

import os
import re
from pathlib import Path

import pytest

from command_calls import printed

ROOT = Path(__file__).resolve().parents[1]
GROUPS = {what: f"dissensus.{what}s" for what in ("metric", "aggregation", "format", "section")}


def skeletons() -> dict[str, str]:
    """Take the code of the skeletons out of the page."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.findall(r"<!-- skeleton: (\w+) -->\n```python\n(.*?)```", text, flags=re.DOTALL)
    return dict(found)


def test_the_page_has_a_skeleton_of_everything_that_can_be_added() -> None:
    assert skeletons().keys() == GROUPS.keys()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Put the package where Python finds it: one module per skeleton, each named by an entry point."""
    place = tmp_path_factory.mktemp("plugin")
    about = place / "own_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-plugin\nVersion: 1.0\n")
    points = "".join(f"[{group}]\n{what} = own_{what}\n" for what, group in GROUPS.items())
    (about / "entry_points.txt").write_text(points)
    for what, code in skeletons().items():
        (place / f"own_{what}.py").write_text(code, encoding="utf-8")
    return place


def run(installed: Path, *command: str, cwd: Path | None = None) -> str:
    path = os.pathsep.join([str(installed), str(ROOT / "src")])
    return printed(*command, place=cwd, PYTHONPATH=path, COLUMNS="200", NO_COLOR="1")


MAIN = ("-c", "from dissensus.cli import main; main()")

OPINIONS = "case,annotator,condition,rank\nx,A,a,1\nx,A,b,2\nx,B,b,1\ny,A,c,1\ny,B,c,1\ny,B,a,2\n"
SCORES = "case,a,b,c\nx,0.6,0.3,0.1\ny,0.2,0.2,0.6\n"


def test_python_finds_what_the_package_adds(installed: Path) -> None:
    script = """
import dissensus as ds
from dissensus.aggregations import PlackettLuce
said = ds.Study.from_rankings([[[["a"], ["b"]], [["b"]]], [[["c"]]]], ["a", "b", "c"])
result = ds.evaluate(said, {"A": [[3, 2, 1], [1, 2, 3]]}, aggregations=["approval", PlackettLuce(1)],
                     metrics=["miss-rate:1"], draws=50)
assert ds.aggregations.Approval().limit == ds.aggregations.Approval()
assert ds.metrics.MissRate(1).higher_is_better is False
print(*(run.label for run in result.runs), *(metric.name for metric in result.metrics), sep="|")
frame = result.to_frame()
print(frame["mean"][0], frame["point_estimate"][0])
"""
    labels, numbers = run(installed, "-c", script).splitlines()
    assert labels == "approval|plackett-luce 1|miss rate of the top 1"
    assert numbers == "0.5 0.5"  # on the first case b is mentioned twice and a once, but the model names a


def test_the_command_line_lists_and_takes_them_and_the_report_explains_them(installed: Path, tmp_path: Path) -> None:
    assert "approval\t" in run(installed, *MAIN, "aggregations")
    assert "miss-rate\tmiss-rate:K\t" in run(installed, *MAIN, "metrics")
    (tmp_path / "opinions.csv").write_text(OPINIONS)
    (tmp_path / "a.csv").write_text(SCORES)
    words = ("opinions.csv", "--predictions", "A=a.csv", "--aggregation", "approval", "--metric", "miss-rate:1")
    said = run(installed, *MAIN, "evaluate", *words, "--draws", "20", "--out", "results", cwd=tmp_path)
    assert "miss rate of the top 1" in said
    page = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    assert "Counts how often each condition is mentioned" in page  # the meaning of the aggregation
    assert "approval voting" in page  # the methods text
    assert "How often the best condition of a draw is not among" in page  # the meaning of the metric
    assert '<section id="thanks"' in page
    assert "Thanks to all 2 annotators" in page
    assert '<a href="#thanks">' in page
    # results outlive the package that made them
    script = "import dissensus as ds; result = ds.load('results'); ds.write_report(result, 'later.html'); "
    script += "print(result.runs[0].label, result.metrics[0].higher_is_better)"
    without = run(Path("nowhere"), "-c", script, cwd=tmp_path)
    assert without.strip() == "approval False"
    assert "Counts how often each condition is mentioned" in (tmp_path / "later.html").read_text(encoding="utf-8")


def test_a_file_in_the_format_is_recognised_and_read(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "opinions.arrows").write_text("x: A -> a, b\nx: B -> b\ny: A -> c\n")
    shown = run(installed, *MAIN, "validate", "opinions.arrows", "--json", cwd=tmp_path)
    assert '"format": "arrows"' in shown
    script = "import dissensus as ds; print(ds.read('opinions.arrows').to_rankings())"
    read = run(installed, "-c", script, cwd=tmp_path)
    assert read.strip() == "[[[['a'], ['b']], [['b']]], [[['c']]]]"
