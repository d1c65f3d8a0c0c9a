"""Images of cases: files beside the page are shown, and nothing is loaded from a network unless it is asked for."""

from __future__ import annotations

import html

import pytest

import dissensus as ds
from dissensus.report.explorer import explored, is_local, picture_address
from dissensus.report.page import content_policy, report_html
from dissensus.report.section import ReportSubject

ADDRESS = "https://example.org/3.png"


@pytest.fixture(scope="module")
def pictured() -> ds.Evaluation:
    said = ds.Study.from_counts([[3, 1], [0, 4], [1, 1]], ["a", "b"])
    return ds.evaluate(said, {}, aggregations=["dirichlet"], draws=20, images=["a.png", ADDRESS, ""])


@pytest.mark.parametrize("text", ["a.png", "pictures/a b.png", "/srv/a.png", "C:\\a.png", "data:image/png;base64,AAAA"])
@pytest.mark.parametrize("around", ["", " ", "\n"])
def test_files_and_pictures_within_the_page_are_local(text: str, around: str) -> None:
    assert is_local(picture_address(around + text))
    assert picture_address(around + text) == text


@pytest.mark.parametrize(
    "text",
    [
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
        *(
            "ht\ntps://host/x",
            "\x00//host/x",
            "file://host/x",
            "file:////host/x",
            "ftp://host/x",
            "javascript:alert(1)",
        ),
    ],
)
def test_whatever_a_browser_would_look_for_elsewhere_is_not_a_file(text: str) -> None:
    assert not is_local(picture_address(text))


@pytest.mark.parametrize("text", ["/.//host/x", "../..//host/x", "a\\\\host", "/..\\/host/x"])
def test_no_path_climbs_to_a_host(text: str) -> None:
    address = picture_address(text)
    assert is_local(address)
    assert "//" not in address.replace("\\", "/")


def test_nothing_is_loaded_from_a_network_by_default(pictured: ds.Evaluation) -> None:
    data = explored(ReportSubject(pictured))
    assert data["images"] == ["a.png", "", ""]
    assert data["withheld"] == ["", ADDRESS, ""]
    page = html.unescape(report_html(pictured))
    assert "https:" not in content_policy([])
    assert "img-src 'self' data: blob: file:;" in page
    assert "loaded from the network when" not in page


def test_images_elsewhere_are_loaded_when_asked_for(pictured: ds.Evaluation) -> None:
    data = explored(ReportSubject(pictured, remote_images=True))
    assert data["images"] == ["a.png", ADDRESS, ""]
    assert data["withheld"] == ["", "", ""]
    page = html.unescape(report_html(pictured, remote_images=True))
    assert "img-src 'self' data: blob: file: https: http:;" in page
    assert "The images of 1 case are loaded from the network" in page
