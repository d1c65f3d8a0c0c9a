"""Small files in the formats of published data, made for the tests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SELECTORS = [[[[0], [1, 2]], [[1]]], [[[3]], [[3], [0]]], [[[2]]]]
CONDITIONS = ("Acne", "Eczema", "Melanoma", "Psoriasis")
SCORES = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.1, 0.2, 0.6], [0.25, 0.25, 0.4, 0.1]])


def write_dermatology(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "dermatology_selectors.json").write_text(json.dumps(SELECTORS), encoding="utf-8")
    (directory / "dermatology_conditions.txt").write_text("\n".join(CONDITIONS) + "\n", encoding="utf-8")
    (directory / "dermatology_risks.txt").write_text("0\n0\n2\n1\n", encoding="utf-8")
    return directory


def write_cifar10h(directory: Path, votes: np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None = None) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    counts = np.zeros((3, 10), dtype=np.int64)
    counts[[0, 1, 1, 2], [3, 8, 0, 9]] = [50, 30, 20, 49]
    np.save(directory / "cifar10h-counts.npy", counts if votes is None else votes)
    return directory


TOXICITY = """rev_id\tworker_id\ttoxicity\ttoxicity_score
2232.0\t723\t0\t0.0
2232.0\t4000\t0\t1.0
4216.0\t723\t1\t-2.0
4216.0\t500\t1\t-1.0
4216.0\t501\t0\t0.0
8953.0\t502\t0\t2.0
"""


def write_toxicity(directory: Path, text: str = TOXICITY) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "toxicity_annotations.tsv").write_text(text, encoding="utf-8")
    return directory


def write_ava(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    rows = [{"image_id": "17", "label": [0, 1, 0, 0, 5, 3, 0, 0, 0, 0]}, {"image_id": "4", "label": [2] + [0] * 9}]
    (directory / "ava_labels_test.json").write_text(json.dumps(rows), encoding="utf-8")
    return directory


CHAOSNLI = "case,entailment,neutral,contradiction\np,60,40,0\nq,0,50,50\nr,1,2,97\n"
CHAOSNLI_SCORES = "case,contradiction,entailment,neutral\nr,0.9,0.05,0.05\np,0.2,0.5,0.3\nq,0.1,0.3,0.6\n"


def write_chaosnli(directory: Path, text: str = CHAOSNLI) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "counts.csv").write_text(text, encoding="utf-8")
    (directory / "pred_net_1.csv").write_text(CHAOSNLI_SCORES, encoding="utf-8")
    return directory
