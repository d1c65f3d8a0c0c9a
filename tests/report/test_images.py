"""Images of cases: files beside the page are shown, and nothing is loaded from a network unless it is asked for."""

from __future__ import annotations

import html

import pytest

import dissensus as ds
from dissensus.report.explorer import explored, is_local, picture_address
from dissensus.report.page import content_policy, report_html
from dissensus.report.section import ReportSubject
from report.test_words import unpacked

ADDRESS = "https://example.org/3.png"


@pytest.fixture(scope="module")
def pictured() -> ds.Evaluation:
    said = ds.Study.from_counts([[3, 1], [0, 4], [1, 1]], ["a", "b"])
    return ds.evaluate(said, {}, aggregations=["dirichlet"], draws=20, images=["a.png", ADDRESS, ""])


LOCAL = ("a.png", "pictures/a b.png", "/srv/a.png", "C:\\a.png", "data:image/png;base64,AAAA")
ELSEWHERE = (
    *(
        "http://host/x",
        "HTTPS://host/x",
        "//host/x",
        "\\\\host\\x",
        "/\\host/x",
        "\\/host/x",
        " //host/x",
        "/\t/host/x",
    ),
    *("ht\ntps://host/x", "\x00//host/x", "file://host/x", "file:////host/x", "ftp://host/x", "javascript:alert(1)"),
)


def test_files_are_told_from_whatever_a_browser_would_look_for_elsewhere() -> None:
    for text in LOCAL:
        for around in ("", " ", "\n"):
            assert is_local(picture_address(around + text))
            assert picture_address(around + text) == text
    assert [text for text in ELSEWHERE if is_local(picture_address(text))] == []
    for text in ("/.//host/x", "../..//host/x", "a\\\\host", "/..\\/host/x"):  # no path climbs to a host
        assert is_local(picture_address(text))
        assert "//" not in picture_address(text).replace("\\", "/")


def test_nothing_is_loaded_from_a_network_by_default(pictured: ds.Evaluation) -> None:
    data = unpacked(explored(ReportSubject(pictured))["blocks"][0])
    assert data["images"] == ["a.png", "", ""]
    assert data["withheld"] == ["", ADDRESS, ""]
    page = html.unescape(report_html(pictured))
    assert "https:" not in content_policy([])
    assert "img-src 'self' data: blob: file:;" in page
    assert "loaded from the network when" not in page


def test_images_elsewhere_are_loaded_when_asked_for(pictured: ds.Evaluation) -> None:
    data = unpacked(explored(ReportSubject(pictured, remote_images=True))["blocks"][0])
    assert data["images"] == ["a.png", ADDRESS, ""]
    assert data["withheld"] == ["", "", ""]
    page = html.unescape(report_html(pictured, remote_images=True))
    assert "img-src 'self' data: blob: file: https: http:;" in page
    assert "The images of 1 case are loaded from the network" in page
