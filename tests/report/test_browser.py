"""The report in a real browser: it opens offline, draws, finds cases, and reads no markup in names."""

import base64
import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Locator, Page, expect

import dissensus as ds
from report.report_studies import AWKWARD, BOLD, FORMULA, IMAGE, SCRIPT, Opened, nasty_study

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
    expect(shared.page.locator("h1")).to_have_text("Which of 4 models?")
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


@pytest.mark.slow
def test_the_page_is_complete_without_scripts(report: Path, open_page: Opener) -> None:
    page = open_page(report, java_script_enabled=False).page
    figures = page.locator("[data-figure]").all()
    names = {figure.get_attribute("data-figure") for figure in figures}
    assert {
        *["estimands", "certainty_by_top", "by_certainty", "category_metrics", "risk", "reliability", "study"]
    } <= names
    assert all(figure.locator("svg :is(path, text)").count() > 2 for figure in figures)
    expect(page.locator("#explorer")).to_be_hidden()
    expect(page.locator("#file")).to_be_visible()
    address = page.locator("#file").get_attribute("href") or ""
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(address.partition(",")[2]).decode("utf-8-sig"))))
    assert len(rows) == 60
    assert {"case", "certainty", "most plausible", "site", "category", "Aster: score", "Aster: wrong"} == {
        name for name in rows[0] if not name.startswith(("Birch", "Cedar", "Dogwood"))
    }
    expect(page.locator("#circular, #sensitivity table").first).to_be_hidden()
    page.locator("#sensitivity summary").click()
    expect(page.locator("#sensitivity table").first).to_be_visible()


PHONE: dict[str, Any] = {"viewport": {"width": 375, "height": 800}, "has_touch": True}


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"color_scheme": "dark"}, PHONE], ids=["desktop", "dark", "phone"])
def test_nothing_stands_in_the_way_of_anybody(report: Path, open_page: Opener, settings: dict[str, Any]) -> None:
    page = open_page(report, drawn=True, **settings).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.locator(ROWS).first.click()
    page.locator("#case .two").wait_for()
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found["violations"]] == []


# Milliseconds: what tasks take beyond 50 each blocks whoever clicks meanwhile.
BLOCKING = """() => new Promise((done) => {
    const seen = [];
    new PerformanceObserver((list) => seen.push(...list.getEntries())).observe({ type: "longtask", buffered: true });
    setTimeout(() => done(seen.reduce((sum, task) => sum + Math.max(0, task.duration - 50), 0)), 1500);
})"""


@pytest.mark.slow
def test_the_page_of_the_demo_is_small_and_does_not_block(tmp_path: Path, open_page: Opener, report: Path) -> None:
    small = tmp_path / "three.html"
    ds.write_report(nasty_study(), small)
    sizes = {"four models": report.stat().st_size, "three cases": small.stat().st_size}
    blocking = min(open_page(report, drawn=True).page.evaluate(BLOCKING) for _ in range(3))  # machines may be busy
    print(sizes, f"{blocking:.0f} ms")
    assert sizes["four models"] < 1_500_000
    assert sizes["three cases"] < 300_000
    assert blocking < 300


def test_terms_are_explained_by_keyboard_and_pointer(page: Page) -> None:
    term, tip = page.locator("#certainty .term[data-term=draw]").first, page.locator("#tip")
    term.focus()
    expect(tip).to_be_visible()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    term.hover()
    expect(tip).to_be_visible()
    used = page.locator(".term").evaluate_all("terms => terms.map((term) => term.dataset.term)")
    assert set(used) <= set(page.locator("#glossary dt").all_text_contents())


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


def test_columns_sort_both_ways_names_by_their_numbers_and_ties_by_the_heading_before(page: Page) -> None:
    heads = page.locator("#case-table thead th")
    for name in ("risk", "disagreement", "Aster"):
        head, seen = heads.filter(has_text=name), set()
        for _ in range(2):
            head.locator("button").click()
            shown = [float(text.strip("✗ ")) for text in column(page, name) if text != "\N{EN DASH}"]
            direction = head.get_attribute("aria-sort")
            seen.add(direction)
            assert shown == sorted(shown, reverse=direction == "descending")
        assert seen == {"ascending", "descending"}
    heads.filter(has_text="case").first.locator("button").click()
    assert column(page, "case")[:3] == ["case 1", "case 2", "case 3"]
    page.get_by_role("button", name="Reset", exact=True).click()
    for name in ("risk", "disagreement"):
        heads.filter(has_text=name).locator("button").click()
    pairs = list(zip(*(map(float, column(page, name)) for name in ("disagreement", "risk")), strict=True))
    assert pairs == sorted(pairs, reverse=True)
    assert len({first for first, _ in pairs}) < len(pairs)
    ranks = page.locator("#case-table thead [data-rank]").evaluate_all("all => all.map((one) => one.dataset.rank)")
    assert sorted(ranks) == ["1", "2"]


def test_views_show_what_their_rules_name_and_five_models_fit(page: Page) -> None:
    counts = {}
    for name in ("confidently wrong", "high risk and missed", "models disagree", "unsettled"):
        button = page.get_by_role("button", name=name, exact=True)
        if button.count():
            button.click()
            assert button.get_attribute("aria-pressed") == "true"
            counts[name] = shown_cases(page)
            page.locator(ROWS).first.click()
            expect(page.locator("#case .chips")).to_contain_text(name)
    cells = "rows => rows.map((row) => [row.cells[0].textContent, row.cells[1].textContent])"
    told = dict(page.locator("#cases tbody tr:has(th span[title])").evaluate_all(cells))
    assert set(counts) <= set(told)
    assert all(counts[name] == int(told[name]) for name in ("models disagree", "unsettled"))
    page.get_by_role("button", name="high risk and missed", exact=True).click()
    page.locator("#case-model").select_option(label="Aster")
    assert f"Aster: {shown_cases(page)}" in told["high risk and missed"]
    page.get_by_role("button", name="all cases", exact=True).click()
    page.locator("#from").fill("0.5")
    page.locator("#to").fill("0.8")
    assert all(0.5 <= float(text) <= 0.8 for text in column(page, "certainty"))
    box = "one => one.scrollWidth <= one.clientWidth + 1"
    assert page.locator("#explorer .scroll").first.evaluate(box)


def test_a_click_shows_a_case(page: Page) -> None:
    name = column(page, "case")[2]
    page.locator(ROWS).nth(2).click()
    expect(opened_case(page)).to_have_text(name)
    case = page.locator("#case")
    assert case.locator("table.scores tbody tr").count() == 4
    least = {".opinion .block": 1, ".bars svg circle": 20, "table.scores .block": 8, ".opinion .mark": 1}
    assert all(case.locator(selector).count() >= number for selector, number in least.items())
    expect(case.locator(".sentence")).to_contain_text("most plausible condition")
    assert page.evaluate("location.hash") == "#case=" + name.replace(" ", "%20")


def test_arrow_keys_go_through_the_cases_and_pages_and_enter_to_the_details(page: Page) -> None:
    names = column(page, "case")
    page.locator(ROWS).first.focus()
    for key, name in (("ArrowDown", names[0]), ("ArrowDown", names[1]), ("ArrowUp", names[0])):
        page.keyboard.press(key)
        expect(opened_case(page)).to_have_text(name)
        expect(page.locator(f"{ROWS}[aria-current=true]")).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(opened_case(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(f"{ROWS}[aria-current=true]")).to_be_focused()
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
    expect(page.locator("#count")).to_have_text("60 cases")


def downloaded(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.locator("#download").click()
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_filtered_list_downloads_as_csv(page: Page) -> None:
    page.locator("#to").fill("0.8")
    rows = downloaded(page)
    assert len(rows) == shown_cases(page)
    assert [row["case"] for row in rows[:12]] == column(page, "case")
    assert [f"{float(row['certainty']):.2f}" for row in rows[:12]] == column(page, "certainty")
    assert {"category", "site", "Aster: score"} <= set(rows[0])


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
    expect(page.locator("#methods")).to_contain_text(BOLD)


@pytest.mark.slow
def test_awkward_names_can_be_linked_to_drawn_and_opened_in_spreadsheets(nasty: Opened) -> None:
    page = nasty.page
    target = page.locator(ROWS).locator("th a").filter(has_text="</script>").get_attribute("href")
    page.evaluate("location.hash = '#cases'")
    expect(page.locator("#case")).to_be_hidden()
    page.evaluate("target => { location.hash = target; }", target)
    expect(opened_case(page)).to_have_text(AWKWARD)
    words = page.locator("[data-figure=by_certainty] svg").first.locator("text").all_text_contents()
    assert {BOLD, SCRIPT} <= set(words)
    assert page.locator("[data-figure] .drawing :is(script, img, b, a[href], [onerror])").count() == 0
    rows = downloaded(page)
    assert {row["case"] for row in rows} == {IMAGE, "'" + FORMULA, AWKWARD}
    assert {row[IMAGE] for row in rows} == {SCRIPT, "'@x", "'+1"}


# Screens, paper and light -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_phone_never_scrolls_sideways(report: Path, nasty_report: Path, open_page: Opener) -> None:
    for path in (report, nasty_report):
        page = open_page(path, drawn=True, **PHONE).page
        page.locator(ROWS).nth(1).click()
        page.locator("#case .two").wait_for()
        assert page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth")
        widest = "all => Math.max(...all.map((one) => one.getBoundingClientRect().right))"
        assert page.locator(".drawing").evaluate_all(widest) <= 375


def test_paper_shows_the_content_and_no_controls(page: Page) -> None:
    page.locator(ROWS).first.click()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for selector in (".contents", ".filters", ".pager", "#download", "#case .actions"):
        expect(page.locator(selector)).to_be_hidden()
    shown = ("h1", ".decision >> nth=0", "#paragraph", "#case .sentence", "[data-figure=certainty_by_top] .drawing")
    for selector in shown:
        expect(page.locator(selector)).to_be_visible()


def colours(page: Page) -> tuple[int, int]:
    """Return how light the page and the words of a figure are."""
    script = """() => [
        getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('[data-figure=certainty_by_top] svg text')).fill,
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
