"""Write the files of "Your first report": a simulated study of 150 skin lesions, six readers and two models."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from dissensus import simulate, write
from dissensus.simulate import Skill

FILES = Path(__file__).parent / "start" / "files"
MODELS = {"A": Skill(0.8), "B": Skill(2.2)}


def tables(folder: str) -> dict[str, pl.DataFrame]:
    """Return the tables by file name: opinions in the long form, one probability per case for each model."""
    made = simulate.binary(
        n_cases=150, n_annotators=6, clarity=2.0, strictness=0.5, opinions=(3, 4), models=MODELS, seed=7
    )
    write(made.annotations, (path := Path(folder) / "long.csv"))
    rows = pl.read_csv(path).filter(pl.col("case").is_not_null())
    lesions = {name: f"lesion {place + 1}" for place, name in enumerate(made.annotations.case_names)}
    readers = {name: f"reader {place + 1}" for place, name in enumerate(made.annotations.annotator_names)}
    opinions = rows.select(
        case=pl.col("case").replace_strict(lesions),
        reader=pl.col("annotator").replace_strict(readers),
        label=pl.col("condition").replace_strict({"absent": "benign", "present": "malignant"}),
    )
    scores = {name: [round(float(row[-1]), 3) for row in model.to_scores()] for name, model in made.predictions.items()}
    return {
        "opinions.csv": opinions,
        **{
            f"{name.lower()}.csv": pl.DataFrame({"case": list(lesions.values()), "malignant": found})
            for name, found in scores.items()
        },
    }


if __name__ == "__main__":
    FILES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        for name, table in tables(folder).items():
            table.write_csv(FILES / name)
