"""Put the pages of the site together, and look at its links.

``python docs/assembly.py pages FOLDER`` copies the pages of ``docs`` and ``paper/docs``, the changelog and the guide
for contributors, and adds what is made from the code. ``python docs/assembly.py check SITE`` follows every link of the
built site.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"<!-- generated: (\w+) -->")
LINK = re.compile(r"(\]\(|(?:href|src)=\")(?!\w+:|#)([^)#\s\"]+)")
COPIED = {".md", ".svg", ".png", ".csv", ".css", ".ipynb", ".py", ".yml"}
PLACES = {"docs": "", "paper/docs": "evidence", "examples": "examples"}
SINGLE = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
}
BIBLIOGRAPHY = "reference/glossary.md"
CODE_OF_DOCS = {path.name for path in (ROOT / "docs").glob("*.py")}


def sources() -> dict[Path, Path]:
    """Say where every file of the repository that belongs to the site goes."""
    found = {ROOT / name: Path(place) for name, place in SINGLE.items()}
    for home, place in PLACES.items():
        for path in sorted((ROOT / home).rglob("*")):
            if path.suffix in COPIED and path.name not in CODE_OF_DOCS:
                found[path] = Path(place) / path.relative_to(ROOT / home)
    found[ROOT / "examples" / "README.md"] = Path("examples/index.md")
    return found


def pages() -> dict[str, str]:
    """Return the text of every page by its place, generated ones included."""
    from gallery_figures import gallery_list
    from reference_pages import GENERATED, NAMESPACES, python_page

    generated = {**GENERATED, "gallery": gallery_list}

    places = sources()
    found = {}
    for path, place in places.items():
        if path.suffix == ".md":
            text = MARK.sub(lambda mark: generated[mark[1]](), path.read_text(encoding="utf-8"))
            found[place.as_posix()] = LINK.sub(partial(relinked, path, place, places), text)
    for namespace in ("", *NAMESPACES):
        found[f"reference/python/{namespace or 'dissensus'}.md"] = python_page(namespace)
    keys = re.findall(r"^- \[(\w+)\]", found[BIBLIOGRAPHY], re.MULTILINE)
    return {name: cited(text, name, keys) for name, text in found.items()}


def cited(text: str, name: str, keys: list[str]) -> str:
    """Link keys of the bibliography, but not in code or in the bibliography itself."""
    if name == BIBLIOGRAPHY:
        return text
    place = Path(os.path.relpath(BIBLIOGRAPHY, Path(name).parent)).as_posix()
    key = re.compile(rf"(```.*?^```|`[^`\n]*`)|\[({'|'.join(keys)})\](?![(\[])", re.DOTALL | re.MULTILINE)
    return key.sub(lambda one: one[1] or f"[{one[2]}]({place}#bibliography)", text)


def relinked(path: Path, place: Path, places: dict[Path, Path], link: re.Match[str]) -> str:
    """Write a link as it leads from the place of a page to that of its target."""
    target = Path(os.path.normpath(path.parent / link[2]))
    there = places.get(target)
    if there is None and target.is_relative_to(ROOT / "docs"):
        there = target.relative_to(ROOT / "docs")
    return link[0] if there is None else link[1] + Path(os.path.relpath(there, place.parent)).as_posix()


def assemble(folder: Path) -> None:
    """Write all pages, pictures and downloads into a folder, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, place in sources().items():
        if path.suffix != ".md":
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / place)
    for name, text in pages().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    from gallery_figures import draw

    draw(folder)


class Page(HTMLParser):
    """Collect the anchors of a page and what it links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one tag."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe") and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found.get("href", ""))


def broken(site: Path) -> list[str]:
    """Name the links of a built site that lead nowhere, and whatever a page would load from a network."""
    parsed = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in parsed.items():
        if path.name == "404.html":
            continue
        found += [f"{path.name} loads {one}" for one in page.loaded if re.match(r"(?:\w+:)?//", one)]
        for link in (*page.links, *page.loaded):
            address, _, anchor = link.partition("#")
            if re.match(r"\w+:|//", address):
                continue
            target = (path.parent / address).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and target in parsed and anchor not in parsed[target].anchors):
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    if sys.argv[1] == "pages":
        assemble(Path(sys.argv[2]))
    else:
        wrong = broken(Path(sys.argv[2]))
        print(*wrong, sep="\n")
        sys.exit(1 if wrong else 0)
