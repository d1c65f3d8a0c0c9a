"""Electrocardiograms: the loader, on small files made for the purpose and on the published ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissensus.core.errors import DissensusError
from paper.data import fetch_ecg, load_ecg
from shared_data import SHARED, needs_shared

HEAD = "case,1dAVb,RBBB,LBBB,SB,AF,ST\n"
FILES = {
    "opinions_ties.csv": "case,annotator,condition\na,A,none of the six\na,B,AF\na,B,RBBB\nb,A,SB\n"
    "b,B,none of the six\n",
    "gold.csv": HEAD + "a,0,1,0,0,1,0\nb,0,0,0,0,0,0\n",
    "attributes.csv": "case,age,sex\nb,71,F\na,39,M\n",
    **dict.fromkeys(
        ("pred_model.csv", "pred_model_1.csv", "pred_model_5.csv"), HEAD + "b,0,0,0,0,0,0\na,0,0.5,0,0,0.9,0\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_checklists_networks_and_strata_are_aligned(folder: Path) -> None:
    data = load_ecg(folder)
    assert data.checklists.to_sets() == [[set(), {"AF", "RBBB"}], [{"SB"}, set()]]
    assert data.checklists.findings == ("1dAVb", "RBBB", "LBBB", "SB", "AF", "ST")
    assert data.predictions["model_5"].to_scores()[0].tolist() == [0, 0.5, 0, 0, 0.9, 0]
    assert data.strata == {"age": ("under 40", "65 and over"), "sex": ("M", "F")}
    assert data.gold["AF"].to_list() == [1, 0]
    assert data.notes[0].count == 6


def test_missing_files_and_columns_are_named(folder: Path) -> None:
    (folder / "attributes.csv").write_text("case,age\na,1\n", encoding="utf-8")
    with pytest.raises(DissensusError, match="not a table of the ECG data") as caught:
        load_ecg(folder)
    assert "'sex'" in caught.value.got
    (folder / "gold.csv").unlink()
    with pytest.raises(DissensusError, match="files of the ECG data are missing"):
        load_ecg(folder)
    with pytest.raises(DissensusError, match="cannot be fetched"):
        fetch_ecg()


@needs_shared
def test_the_published_files_hold_every_annotator_on_every_case() -> None:
    data = load_ecg(SHARED / "ecg")
    said = data.checklists
    assert (said.n_cases, said.n_opinions, said.n_findings) == (827, 4135, 6)
    assert not said.is_abstention.any()
    assert said.unannotated == ()
    assert (said.panel.annotators_per_case == 5).all()
    assert int((said.present_per_checklist == 0).sum()) == 3434
    assert data.notes == ()
    assert {name: model.n_cases for name, model in data.predictions.items()} == dict.fromkeys(
        ("model", "model_1", "model_5"), 827
    )
    assert data.gold.select(said.findings).to_numpy().sum(axis=0).tolist() == [28, 34, 30, 16, 13, 37]
