"""AVA and Wikipedia toxicity: ratings in their published forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dissensus.core.errors import DissensusError
from paper.data import load_ava, load_wikipedia_toxicity
from paper.tests.data.published_files import TOXICITY, write_ava, write_toxicity
from shared_data import SHARED, needs_shared


def test_ava_votes_become_scores(tmp_path: Path) -> None:
    ratings = load_ava(write_ava(tmp_path)).ratings
    assert ratings.case_names == ("17", "4")
    assert (ratings.scores.tolist(), ratings.votes.tolist()) == ([2, 5, 6, 1], [1, 5, 3, 2])


def test_the_full_file_has_tags_and_challenges(tmp_path: Path) -> None:
    (tmp_path / "AVA.txt").write_text(
        "1 953619 0 1 5 17 38 36 15 6 5 1 1 22 1396\n2 953958 10 7 15 26 26 21 10 8 1 2 15 21 1396\n", encoding="utf-8"
    )
    ratings = load_ava(tmp_path).ratings
    assert ratings.case_names == ("953619", "953958")
    assert ratings.votes_per_case.tolist() == [124, 126]
    assert load_ava(tmp_path / "AVA.txt", most=1).ratings.case_names == ("953619",)


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("ava_labels_test.json", '[{"image_id": "1", "label": [1, 2]}]', "entry 1"),
        ("ava_labels_test.json", '[{"label": [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]}]', "entry 1"),
        ("AVA.txt", "1 953619 0 1 5\n", "line 1"),
        ("AVA.txt", "1 953619 0 1 5 17 38 36 15 6 5 x 1 22 1396\n", "line 1"),
    ],
)
def test_broken_ava_files_are_named(tmp_path: Path, name: str, text: str, match: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DissensusError, match=match) as caught:
        load_ava(tmp_path)
    assert name in caught.value.where


def test_a_directory_without_ava_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DissensusError) as caught:
        load_ava(tmp_path)
    assert "ava_labels_test.json" in caught.value.expected
    assert "AVA.txt" in caught.value.expected


def test_toxicity_scores_go_by_revision_and_worker(tmp_path: Path) -> None:
    ratings = load_wikipedia_toxicity(write_toxicity(tmp_path)).ratings
    assert ratings.case_names == ("2232", "4216", "8953")
    assert ratings.scores.tolist() == [0, 1, -2, -1, 0, 2]
    assert ratings.panel.annotator_names[int(ratings.panel.annotators[2])] == "723"


def test_the_first_comments_keep_all_their_ratings(tmp_path: Path) -> None:
    directory = write_toxicity(tmp_path, TOXICITY + "2232.0\t9\t0\t2.0\n")
    ratings = load_wikipedia_toxicity(directory, most=1).ratings
    assert ratings.case_names == ("2232",)
    assert ratings.scores.tolist() == [0, 1, 2]


def test_the_file_may_be_called_anything(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text(TOXICITY, encoding="utf-8")
    assert load_wikipedia_toxicity(path).ratings.n_cases == 3


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("rev_id\tworker_id\ttoxicity\n1\t2\t0\n", "toxicity_score"),
        (TOXICITY.replace("2.0\n", "7.0\n"), "out of range"),
        (TOXICITY.replace("-1.0", "bad"), "bad"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(DissensusError, match=match) as caught:
        load_wikipedia_toxicity(write_toxicity(tmp_path, text))
    assert "toxicity_annotations.tsv" in str(caught.value)


@needs_shared
def test_the_tenth_of_ava_is_what_was_published() -> None:
    data = load_ava(SHARED / "ava", most=5000)
    assert data.ratings.n_cases == 5000
    assert data.notes == ()
    assert data.ratings.case_names[0] == "231893"
    first = data.ratings.select([0])
    assert np.bincount(first.scores.astype(int), first.votes, minlength=11)[1:].tolist() == [
        *(2, 8, 19, 36, 76, 52, 16, 9, 3, 2)
    ]
