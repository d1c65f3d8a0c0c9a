"""The report in a real browser: it opens offline, draws, finds cases, and reads no markup in names."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from report.report_studies import AWKWARD, BOLD, FORMULA, IMAGE, SCRIPT, Opened

Opener = Callable[..., Opened]
ROWS = "#case-table tbody tr"


def column(page: Page, name: str) -> list[str]:
    """Return what the visible rows show in a column."""
    heads = [re.sub(r"\W+$", "", text) for text in page.locator("#case-table thead th").all_inner_texts()]
    return page.locator(f"{ROWS} > :nth-child({heads.index(name) + 1})").all_inner_texts()


def shown_cases(page: Page) -> int:
    return int(page.locator("#count").inner_text().split(" ")[0])


def opened_case(page: Page) -> Locator:
    return page.locator("#case h3")


# Opening ------------------------------------------------------------------------------------------------


def test_the_page_opens_without_a_network_or_an_error_and_may_run_nothing_of_others(shared: Opened) -> None:
    assert shared.asked == shared.wrong == []
    expect(shared.page.locator("h1")).to_have_text("4 models evaluated against uncertain annotations")
    policy = shared.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content") or ""
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe-eval" not in policy
    script = """() => {
        const added = document.createElement('script');
        added.textContent = 'window.ran = 1';
        document.body.append(added);
        return window.ran ?? 'refused';
    }"""
    assert shared.page.evaluate(script) == "refused"
    assert "Content Security Policy" in shared.wrong.pop()


def test_every_figure_is_drawn_with_and_without_scripts(report: Path, open_page: Opener) -> None:
    for settings in ({}, {"java_script_enabled": False}):
        page = open_page(report, **settings).page
        figures = page.locator("[data-figure]").all()
        names = {figure.get_attribute("data-figure") for figure in figures}
        assert {"study", "certainty", "reliability", "draws", "comparison", "risk", "agreement"} <= names
        drawn = {
            figure.get_attribute("data-figure"): figure.locator("svg :is(path, text)").count() for figure in figures
        }
        assert {name: count for name, count in drawn.items() if count < 2} == {}
        other = page.locator("details.figures [data-figure=reliability]").first
        expect(other).to_be_hidden()
        page.locator("details.figures", has=page.locator("[data-figure=reliability]")).locator("summary").click()
        expect(other).to_be_visible()


def test_terms_are_explained_by_keyboard_and_pointer(page: Page) -> None:
    term, tip = page.locator("#certainty .term[data-term=draw]").first, page.locator("#tip")
    term.focus()
    expect(tip).to_be_visible()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    term.hover()
    expect(tip).to_be_visible()
    used = page.locator(".term").evaluate_all("terms => terms.map((term) => term.dataset.term)")
    assert set(used) <= set(page.locator("#glossary dt").all_inner_texts())


def test_headings_and_landmarks_lead_through_the_page(page: Page) -> None:
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map((one) => Number(one.tagName[1]))")
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for landmark in ("main", "nav[aria-label]", "header", "footer"):
        assert page.locator(f"body {landmark}").count() == 1
    for link in page.locator(".contents a").all():
        assert page.locator(link.get_attribute("href") or "").count() == 1


# The case explorer --------------------------------------------------------------------------------------


def test_cases_are_sorted_found_by_name_and_by_condition(page: Page) -> None:
    certainties = [float(text) for text in column(page, "certainty")]
    assert len(certainties) == 12
    assert certainties == sorted(certainties)
    expect(page.locator("#count")).to_have_text("60 cases")
    page.locator("#search").fill("CASE 17")
    assert column(page, "case") == ["case 17"]
    page.locator("#search").fill("")
    page.locator(ROWS).first.click()
    condition = page.locator("#case .bars .label").first.inner_text().split("\n")[0]
    page.locator("#search").fill(re.split(r"\s+[●◆▲]", condition)[0])
    assert 0 < shown_cases(page) <= 60
    page.locator("#search").fill("no such thing")
    expect(page.locator("#count")).to_have_text("0 of 60 cases")


def test_columns_sort_both_ways_and_names_by_their_numbers(page: Page) -> None:
    for name in ("expected risk", "disagreement", "Aster"):
        head, seen = page.locator("#case-table thead th").filter(has_text=name), set()
        for _ in range(2):
            head.locator("button").click()
            shown = [float(text) for text in column(page, name) if text != "\N{EN DASH}"]
            direction = head.get_attribute("aria-sort")
            seen.add(direction)
            assert shown == sorted(shown, reverse=direction == "descending")
        assert seen == {"ascending", "descending"}
    page.locator("#case-table thead th").filter(has_text="case").first.locator("button").click()
    assert column(page, "case")[:3] == ["case 1", "case 2", "case 3"]


def test_a_click_shows_a_case(page: Page) -> None:
    name = column(page, "case")[2]
    page.locator(ROWS).nth(2).click()
    expect(opened_case(page)).to_have_text(name)
    case = page.locator("#case")
    assert case.locator(".opinion .block").count() >= 1
    assert case.locator(".bars svg circle").count() >= 20
    assert case.locator("table.scores tbody tr").count() == 4
    assert case.locator("table.scores .block").count() >= 8
    expect(case.locator(".sentence")).to_contain_text("most plausible condition")
    assert case.locator(".opinion .mark").count() >= 1
    assert page.evaluate("location.hash") == "#case=" + name.replace(" ", "%20")


def test_arrow_keys_go_through_the_cases_and_pages_and_enter_to_the_details(page: Page) -> None:
    names = column(page, "case")
    page.locator(ROWS).first.focus()
    for key, name in (("ArrowDown", names[0]), ("ArrowDown", names[1]), ("ArrowUp", names[0])):
        page.keyboard.press(key)
        expect(opened_case(page)).to_have_text(name)
        expect(page.locator(f"{ROWS}[aria-selected=true]")).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(opened_case(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(f"{ROWS}[aria-selected=true]")).to_be_focused()
    page.locator(ROWS).last.click()
    page.locator(ROWS).last.focus()
    for key, number in (("ArrowDown", 2), ("End", 5)):
        page.keyboard.press(key)
        expect(page.locator("#page-of")).to_have_text(f"Page {number} of 5")
    page.locator("#previous").click()
    expect(page.locator("#page-of")).to_have_text("Page 4 of 5")


@pytest.mark.slow
def test_a_link_leads_to_a_case_and_back_again(report: Path, open_page: Opener) -> None:
    first, second, third = column(open_page(report).page, "case")[:3]
    page = open_page(report, fragment=f"#case={quote(third)}").page
    expect(opened_case(page)).to_have_text(third)
    page.locator(ROWS).nth(0).click()
    page.locator(ROWS).nth(1).click()
    expect(opened_case(page)).to_have_text(second)
    page.go_back()
    expect(opened_case(page)).to_have_text(first)
    page.go_back()
    expect(opened_case(page)).to_have_text(third)


def test_a_link_to_an_unknown_case_says_so(page: Page, shared: Opened) -> None:
    page.evaluate("location.hash = '#case=%E0%A4%A'")
    expect(page.locator("#case")).to_contain_text("There is no case called")
    assert shared.wrong == []


def test_filters_keep_what_they_say(page: Page) -> None:
    page.locator("#category").select_option(label="high")
    by_category = shown_cases(page)
    page.locator("[data-stratum]").select_option(label="Bonn")
    both = shown_cases(page)
    assert 0 < both < by_category < 60
    for row in page.locator(ROWS).all():
        row.click()
        expect(page.locator("#case .chips")).to_contain_text("category high")
        expect(page.locator("#case .chips")).to_contain_text("site Bonn")
    page.get_by_role("button", name="Reset", exact=True).click()
    page.locator("#threshold").fill("0.7")
    assert max(float(text) for text in column(page, "certainty")) <= 0.7
    kept = shown_cases(page)
    assert 0 < kept < 60


def test_another_aggregation_changes_the_open_case(page: Page) -> None:
    page.locator("#search").fill("case 7")
    page.locator(ROWS).first.click()
    before = page.locator("#case .bars .value").all_inner_texts()
    page.locator("#case-run").select_option(label="probabilistic-inverse-rank 30")
    expect(page.locator("#case")).to_contain_text("Plausibilities (probabilistic-inverse-rank 30)")
    assert page.locator("#case .bars .value").all_inner_texts() != before


def downloaded(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.locator("#download").click()
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_filtered_list_downloads_as_csv(page: Page) -> None:
    page.locator("#threshold").fill("0.8")
    rows = downloaded(page)
    assert len(rows) == shown_cases(page)
    assert [row["case"] for row in rows[:12]] == column(page, "case")
    assert [f"{float(row['certainty']):.2f}" for row in rows[:12]] == column(page, "certainty")
    assert {"expected risk", "disagreement", "category", "site", "Aster: top-1 accuracy"} <= set(rows[0])


def test_an_image_is_shown_and_a_missing_one_leaves_no_trace(page: Page, shared: Opened) -> None:
    page.evaluate("location.hash = '#case=case%201'")
    expect(page.locator("#case img")).to_be_visible()
    page.evaluate("location.hash = '#case=case%202'")
    expect(opened_case(page)).to_have_text("case 2")
    expect(page.locator("#case img")).to_have_count(0)
    assert "ERR_FILE_NOT_FOUND" in shared.wrong.pop()


def test_an_image_elsewhere_is_not_loaded_and_the_page_says_so(page: Page, shared: Opened) -> None:
    for case, address in ((3, "https://example.org/3.png"), (4, "https://example.org/4")):
        page.evaluate(f"location.hash = '#case=case%20{case}'")
        expect(page.locator("#case .withheld")).to_contain_text(f"not loaded from the network: {address}")
        expect(page.locator("#case img")).to_have_count(0)
    assert shared.asked == []


# Names --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_names_are_text_wherever_they_are_shown(nasty: Opened) -> None:
    page = nasty.page
    expect(page.locator("h1")).to_have_text(SCRIPT)
    for row in range(3):
        page.locator(ROWS).nth(row).click()
        page.locator("#case .two").wait_for()
    assert nasty.wrong == []
    assert nasty.asked == []
    assert page.locator("main img, main script").count() == 0
    names = page.locator(ROWS).locator("th a").all_inner_texts()
    assert {IMAGE, FORMULA} < set(names)
    expect(page.locator("#case-table thead")).to_contain_text(BOLD)
    expect(page.locator("#data")).to_contain_text(BOLD)


@pytest.mark.slow
def test_awkward_names_can_be_linked_to_drawn_and_opened_in_spreadsheets(nasty: Opened) -> None:
    page = nasty.page
    target = page.locator(ROWS).locator("th a").filter(has_text="</script>").get_attribute("href")
    page.evaluate("location.hash = '#cases'")
    expect(page.locator("#case")).to_be_hidden()
    page.evaluate("target => { location.hash = target; }", target)
    expect(opened_case(page)).to_have_text(AWKWARD)
    words = page.locator("[data-figure=reliability] svg").first.locator("text").all_text_contents()
    assert {BOLD, SCRIPT} <= set(words)
    assert page.locator("[data-figure] .drawing :is(script, img, b, a[href], [onerror])").count() == 0
    rows = downloaded(page)
    assert {row["case"] for row in rows} == {IMAGE, "'" + FORMULA, AWKWARD}
    assert {row[IMAGE] for row in rows} == {SCRIPT, "'@x", "'+1"}


# Screens, paper and light -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_phone_never_scrolls_sideways(report: Path, nasty_report: Path, open_page: Opener) -> None:
    for path in (report, nasty_report):
        page = open_page(path, drawn=True, viewport={"width": 375, "height": 800}, has_touch=True).page
        page.locator(ROWS).nth(1).click()
        page.locator("#case .two").wait_for()
        assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
        widest = "all => Math.max(...all.map((one) => one.getBoundingClientRect().right))"
        assert page.locator(".drawing").evaluate_all(widest) <= 375


def test_paper_shows_the_content_and_no_controls(page: Page) -> None:
    page.locator(ROWS).first.click()
    page.emulate_media(media="print")
    for selector in (".contents", ".filters", ".pager", "#download", "#case .actions"):
        expect(page.locator(selector)).to_be_hidden()
    for selector in ("h1", ".decision >> nth=0", "#paragraph", "#case .sentence", "[data-figure=certainty] .drawing"):
        expect(page.locator(selector)).to_be_visible()


def colours(page: Page) -> tuple[int, int]:
    """Return how light the page and the words of a figure are."""
    script = """() => [
        getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('[data-figure=certainty] svg text')).fill,
    ]"""
    light, ink = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in page.evaluate(script))
    return light, ink


@pytest.mark.slow
def test_the_dark_page_has_light_figures_and_follows_a_change(report: Path, open_page: Opener) -> None:
    page = open_page(report, drawn=True, color_scheme="dark").page
    light, ink = colours(page)
    assert light < 150 < 450 < ink
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(500)
    light, ink = colours(page)
    assert ink < 300 < 600 < light
