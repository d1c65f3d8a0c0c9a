"""Draw the pictures of the README and the documentation: the numbers of the demo, and the reports."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from four_numbers import chart_of, numbers_of_demo
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from dissensus.figures.charts import write_chart

IMAGES = Path(__file__).parent / "images"
WIDTH = 1240
COLOURS = 128
FILES = Path(__file__).parent / "start" / "files"
# The parts of the report that "How to read the report" numbers, from 1 on.
BADGES = (
    "#summary-title",
    "#summary .figure",
    "#summary h3:not(.figure h3)",
    "#cases-title",
    "#models-title",
    "nav.contents li:last-child",
)

BADGE = """([place, number]) => {
  const box = document.querySelector(place).getBoundingClientRect(), mark = document.createElement("b");
  mark.textContent = number;
  mark.style.cssText = `position:absolute;left:${Math.max(4, box.x - 44)}px;top:${box.y + scrollY}px;z-index:9;
    width:34px;height:34px;border-radius:50%;background:#b3261e;color:white;font:bold 20px/34px sans-serif;
    text-align:center`;
  document.body.append(mark);
}"""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main() -> None:
    """Run the demo and the first evaluation, and draw their reports and the numbers of the demo."""
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "demo")
        draw_report(Path(folder) / "demo-results" / "report.html")
        models = [f"--predictions={name}={FILES / name.lower()}.csv" for name in "AB"]
        run(folder, "evaluate", str(FILES / "opinions.csv"), *models, "--called", "reader")
        draw_numbered(Path(folder) / "results" / "report.html")
    write_chart(chart_of(numbers_of_demo()), IMAGES / "four-numbers.svg", overwrite=True)


def run(folder: str, *words: str) -> None:
    """Run a command in a folder."""
    command = [sys.executable, "-c", "from dissensus.cli import main; main()", *words]
    subprocess.run(command, capture_output=True, check=True, cwd=folder)


@contextmanager
def opened(report: Path, height: int) -> Iterator[Page]:
    """Open a report in a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": WIDTH, "height": height})
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        yield page
        browser.close()


def draw_report(report: Path) -> None:
    """Draw the decision, and the most disputed case, as two pictures."""
    with opened(report, 2700) as page:
        seen(page, "#summary", from_top=True).quantize(COLOURS).save(IMAGES / "report.png", optimize=True)
        page.locator("tr[data-case]").first.click()
        seen(page, "#case").quantize(COLOURS).save(IMAGES / "case.png", optimize=True)


def draw_numbered(report: Path) -> None:
    """Draw the first report with numbers beside its parts."""
    with opened(report, 2250) as page:
        for number, place in enumerate(BADGES, start=1):
            page.evaluate(BADGE, [place, str(number)])
        shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shown.quantize(COLOURS).save(IMAGES / "report-read.png", optimize=True)


def seen(page: Page, part: str, *, from_top: bool = False) -> Image.Image:
    """Take a picture of a part of the page once it has settled, or of all down to its end."""
    page.wait_for_timeout(1500)
    box = page.locator(part).bounding_box()
    if box is None:
        raise LookupError(part)
    if not from_top:
        return Image.open(io.BytesIO(page.locator(part).screenshot())).convert("RGB")
    shown = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"]})
    return Image.open(io.BytesIO(shown)).convert("RGB")


if __name__ == "__main__":
    main()
