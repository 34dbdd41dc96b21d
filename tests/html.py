"""What a page of ours must keep to, found out by a strict parser: `faults(text)` is empty for a good one."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = frozenset({"meta", "link", "br", "img", "hr", "input"})
ACTIVE = frozenset({"script", "style", "iframe", "object", "embed", "form", "base", "img", "video", "audio"})
"""Elements no page has: nothing runs, nothing is fetched, nothing is sent."""

APART = frozenset({"td", "th", "p", "li", "br", "tr", "caption", "h1", "h2", "h3", "section", "div"})
"""Elements whose text stands apart from what is before it."""


@dataclass(slots=True)
class Element:
    """One element with its text, whole."""

    tag: str
    attributes: dict[str, str | None]
    parents: tuple[str, ...]
    text: str = ""


@dataclass
class Document(HTMLParser):
    """The parsed page. `broken` holds what does not nest."""

    elements: list[Element] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names):
            self.broken.append(f"<{tag}> has an attribute twice")
        if tag in APART:
            self.handle_data(" ")
        element = Element(tag, dict(attrs), tuple(one.tag for one in self.open))
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1].tag != tag:
            self.broken.append(f"</{tag}> closes {self.open[-1].tag if self.open else 'nothing'}")
            return
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        """Elements of these names, in order."""
        return [one for one in self.elements if one.tag in tags]


def parsed(text: str) -> Document:
    """The page as elements."""
    document = Document()
    document.feed(text)
    document.close()
    document.broken += [f"<{one.tag}> is never closed" for one in document.open]
    return document


def words(text: str) -> str:
    """What a person reads, blanks made one."""
    return " ".join(parsed(text).all("body")[0].text.split())


def faults(text: str) -> list[str]:
    """Everything wrong with a page: nesting, headings, tables, links, labels, and what could run or leak."""
    document = parsed(text)
    found = list(document.broken)
    if not text.startswith("<!doctype html>"):
        found.append("no doctype")
    return [*found, *_frame(document), *_tables(document), *_ids(document), *_harmless(document)]


def _frame(document: Document) -> list[str]:
    once = ("html", "title", "main", "h1", "header", "footer")
    found = [f"{len(document.all(tag))} <{tag}>" for tag in once if len(document.all(tag)) != 1]
    if document.all("html")[0].attributes.get("lang") != "en":
        found.append("no lang")
    levels = [int(one.tag[1]) for one in document.all("h1", "h2", "h3", "h4", "h5", "h6")]
    found += [f"h{b} after h{a}" for a, b in pairwise(levels) if b > a + 1]
    found += [f"an empty <{one.tag}>" for one in document.all("h1", "h2", "h3", "a", "title", "caption", "th")
              if not one.text.strip()]  # fmt: skip
    first = document.all("a")[0]
    if (first.attributes.get("href"), first.attributes.get("class")) != ("#main", "skip"):
        found.append("the first link does not skip to the content")
    metas = {one.attributes.get("name"): one.attributes.get("content") for one in document.all("meta")}
    if "width=device-width" not in (metas.get("viewport") or ""):
        found.append("no viewport")
    return found


def _tables(document: Document) -> list[str]:
    found = []
    if len(document.all("table")) != len(document.all("caption")):
        found.append("a table without a caption")
    for cell in document.all("th"):
        wanted = "col" if "thead" in cell.parents else "row"
        if cell.attributes.get("scope") != wanted:
            found.append(f"a heading of a {wanted} without its scope: {cell.text}")
    for box in document.all("div"):
        if box.attributes.get("tabindex") != "0" or not box.attributes.get("aria-labelledby"):
            found.append("a scrolling box no keyboard reaches, or without a name")
    found += [f"a time without its instant: {one.text}" for one in document.all("time")
              if not (one.attributes.get("datetime") or "").endswith("Z")]  # fmt: skip
    return found


def _ids(document: Document) -> list[str]:
    ids = [str(one.attributes["id"]) for one in document.elements if "id" in one.attributes]
    found = [f"id {name} twice" for name in set(ids) if ids.count(name) > 1]
    found += [f"id {name} is no token" for name in ids if not name or any(c.isspace() for c in name)]
    named = [str(one.attributes["aria-labelledby"]) for one in document.elements
             if "aria-labelledby" in one.attributes]  # fmt: skip
    anchors = [str(one.attributes["href"])[1:] for one in document.all("a")
               if str(one.attributes.get("href", "")).startswith("#")]  # fmt: skip
    return found + [f"nothing has the id {name}" for name in (*named, *anchors) if name not in ids]


def _harmless(document: Document) -> list[str]:
    found = [f"<{one.tag}>" for one in document.all(*ACTIVE)]
    for one in document.elements:
        for name, value in one.attributes.items():
            if name.startswith("on") or name == "style":
                found.append(f"{name} on <{one.tag}>")
            if name in {"href", "src"} and not str(value).startswith(("/", "#")):
                found.append(f"<{one.tag}> leads away: {value}")
            if name in {"href", "src"} and str(value).startswith("//"):
                found.append(f"<{one.tag}> leads away: {value}")
    return found
