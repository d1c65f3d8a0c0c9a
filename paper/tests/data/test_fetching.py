"""Fetching: what is there is checked and kept, what cannot be had is said clearly, and nothing broken stays."""

from __future__ import annotations

import builtins
import hashlib
import importlib
from pathlib import Path
from typing import Any

import pytest

import paper.data.publication as publishing
from dissensus.core.errors import DissensusError, MissingExtraError
from paper.data import (
    fetch_ava,
    fetch_chaosnli,
    fetch_cifar10h,
    fetch_dermatology,
    fetch_dermxdb,
    fetch_wikipedia_toxicity,
)
from paper.data.ava import AVA
from paper.data.cifar10h import CIFAR10H
from paper.data.dermatology import DERMATOLOGY
from paper.data.publication import Publication, PublishedFile

TEXT = b"published\n"


@pytest.fixture
def here(tmp_path: Path) -> Publication:
    """Publish a file on this very disk."""
    origin = tmp_path / "origin.txt"
    origin.write_bytes(TEXT)
    file = PublishedFile("data.txt", hashlib.sha256(TEXT).hexdigest(), "https://invalid.invalid/data.txt")
    return Publication("small data", "small", "small", (file,), "nowhere in particular", "CC0")


def arrive(content: bytes) -> Any:
    """Stand in for the network: every download brings this content."""

    def download(url: str, output_file: str, pooch: object, check_only: bool = False) -> None:  # noqa: ARG001
        Path(output_file).write_bytes(content)

    return lambda *_, **__: download


def test_files_arrive_and_are_checked(here: Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pooch.core.choose_downloader", arrive(TEXT))
    place = here.fetch(tmp_path / "cache")
    assert (place / "data.txt").read_bytes() == TEXT
    assert here.notes([place / "data.txt"]) == ()


def test_what_is_there_is_not_fetched_again(here: Publication, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes(TEXT)
    assert here.fetch(tmp_path) == tmp_path


def test_other_contents_are_refused_and_not_kept(
    here: Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pooch.core.choose_downloader", arrive(b"something else"))
    with pytest.raises(DissensusError, match="other contents than the published file") as caught:
        here.fetch(tmp_path / "cache")
    assert caught.value.where == "https://invalid.invalid/data.txt"
    assert not list((tmp_path / "cache").iterdir())


def test_being_offline_is_said_with_the_place_to_get_it(
    here: Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("pooch.retrieve", offline)
    with pytest.raises(DissensusError, match=r"data\.txt cannot be fetched") as caught:
        here.fetch(tmp_path / "cache")
    assert "is there a connection?" in caught.value.advice
    assert "nowhere in particular" in caught.value.advice


def test_without_the_extra_the_error_names_it(here: Publication, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, *_: object) -> object:
        if name == "pooch":
            raise ImportError(name)
        return importlib.import_module(name)

    monkeypatch.setattr(publishing, "import_module", absent)
    with pytest.raises(MissingExtraError, match="pooch") as caught:
        here.fetch()
    assert "--group paper" in caught.value.advice
    assert isinstance(caught.value, builtins.ImportError)


@pytest.mark.parametrize("fetch", [fetch_chaosnli, fetch_dermxdb, fetch_wikipedia_toxicity])
def test_what_has_no_lasting_address_says_where_to_get_it(fetch: Any) -> None:
    with pytest.raises(DissensusError, match="cannot be fetched") as caught:
        fetch()
    assert "get it from" in caught.value.advice


@pytest.mark.parametrize(
    ("fetch", "publication"), [(fetch_ava, AVA), (fetch_cifar10h, CIFAR10H), (fetch_dermatology, DERMATOLOGY)]
)
def test_every_published_file_is_asked_for(
    fetch: Any, publication: Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def retrieve(url: str, *, known_hash: str, fname: str, path: Path) -> None:
        asked.append((url, known_hash, fname, path))

    monkeypatch.setattr("pooch.retrieve", retrieve)
    fetch(tmp_path)
    assert asked == [(f.address, f"sha256:{f.sha256}", f.name, tmp_path) for f in publication.files]
    assert all(f.address.startswith("https://") and len(f.sha256) == 64 for f in publication.files)
