"""What a user does, once and on a small study: it must work with the oldest versions that are declared."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import narwhals as nw
import polars as pl

import dissensus as ds
from dissensus.aggregations import PlackettLuce, ProbabilisticInverseRank
from dissensus.certainty import annotation_certainty


def read_and_write(said: ds.Study, place: Path) -> None:
    """Give a study to files and tables, and take it back."""
    for suffix in ("csv", "parquet"):
        path = place / f"opinions.{suffix}"
        ds.write(said, path)
        assert ds.read(path) == said, suffix
    labels = pl.DataFrame({"case": ["p", "p", "q"], "annotator": ["x", "y", "x"], "condition": ["a|b", "b", ""]})
    labels.write_ndjson(place / "labels.jsonl")
    built = ds.Study.from_long(nw.from_native(labels), tie_separator="|")
    assert built.to_rankings() == [[[["a", "b"]], [["b"]]], [[]]]
    assert ds.read(place / "labels.jsonl", tie_separator="|") == built


def read_models(said: ds.Study, place: Path) -> Mapping[str, ds.Predictions]:
    """Read two models, one from a matrix with a column per condition and one from a long table."""
    wide = pl.DataFrame({"case": said.case_names, **{name: float(len(name)) for name in said.conditions}})
    wide.write_csv(place / "wide.csv")
    long = wide.unpivot(index="case", variable_name="condition", value_name="score")
    long.with_columns(pl.col("score") + pl.col("condition").str.contains("e")).write_parquet(place / "long.parquet")
    named = [f"Wide={place / 'wide.csv'}", f"Long={place / 'long.parquet'}"]
    return ds.read_models(named, conditions=said.conditions, cases=said.case_names)


def evaluate(place: Path) -> None:
    """Evaluate, compare, store and report."""
    study = ds.simulate.study(n_cases=12, n_conditions=8, seed=1)
    said = study.annotations
    read_and_write(said, place)
    certainty = annotation_certainty(PlackettLuce(2).sample(said, draws=40))
    assert 0 < certainty.mean <= 1
    result = ds.evaluate(
        said,
        read_models(said, place),
        aggregations=[PlackettLuce(2), ProbabilisticInverseRank(10)],
        draws=40,
        categories=study.categories,
        strata=study.strata,
    )
    assert result.to_frame()["metric"].n_unique() > 3
    assert result.to_frame()["mean"].is_between(0, 1).all()
    assert set(result.compare().to_frame()["verdict"]) != set()
    assert result.by_group("site").height > 0
    result.save(place / "results")
    assert ds.load(place / "results") == result
    ds.write_report(result, place / "report.html")
    assert (place / "report.html").stat().st_size > 100_000


def call(*words: str) -> str:
    """Call the command line as installed, and return what it prints."""
    command = [str(Path(sys.executable).with_name("dissensus")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Do everything, in a directory of its own."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        evaluate(place)
        assert "validate" in call("--help")
        assert "12" in call("validate", str(place / "opinions.csv"))


if __name__ == "__main__":
    main()
