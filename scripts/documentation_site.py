"""Hooks of MkDocs: what the pages of the repository need to be a site. mkdocs.yml names this file.

Pages outside of docs/ become pages of the site. A link to code becomes the name of the file: the
site has no copy of the code. Headings have the anchors that GitHub gives them.
Source: https://www.mkdocs.org/user-guide/configuration/#hooks
"""

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.check_links import FENCE, LINK, anchor_of  # noqa: E402 # MkDocs runs the file alone

OUTSIDE: Final = {
    "nginx/README.md": "repository/nginx.md",
    "proxies/README.md": "repository/proxies.md",
    "certs/README.md": "repository/certs.md",
    "CHANGELOG.md": "repository/changelog.md",
    "SECURITY.md": "repository/security.md",
    "README.md": "README.md",
}
"""Pages of the repository outside of docs/, with their place in the site; README.md is its home."""
_PLACES: Final = {target: source for source, target in OUTSIDE.items() if source != "README.md"}
_SHELF: Final = ("tasks", "decisions", "reference")
"""Folders whose page README.md lists the others, in the order of the navigation."""
_LISTED: Final = re.compile(r"\]\(([\w-]+\.md)\)")
_START_OF_BLOCK: Final = re.compile(r"(?:- |\d+\. |\|)")
_ELSEWHERE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    """Make anchors as GitHub makes them, and put the pages of the listing folders into `nav`."""
    config.mdx_configs["toc"]["slugify"] = lambda text, _separator: anchor_of(text)
    config.nav = with_listed_pages(config.nav)
    return config


def with_listed_pages(entry: Any) -> Any:
    """Return a part of the navigation with the pages of the folders whose index it has."""
    match entry:
        case list():
            return [with_listed_pages(each) for each in entry]
        case dict():
            return {title: with_listed_pages(each) for title, each in entry.items()}
        case str() if entry.endswith("/README.md") and entry.split("/")[0] in _SHELF:
            return [entry, *list_pages(ROOT / "docs" / entry)]
    return entry


def list_pages(index: Path) -> list[str]:
    """Return the pages of a folder below docs/: those that its index links to first."""
    linked = _LISTED.findall(index.read_text(encoding="utf-8"))
    found = sorted(page.name for page in index.parent.glob("*.md") if page != index)
    ordered = [*dict.fromkeys(name for name in linked if name in found)]
    return [f"{index.parent.name}/{name}" for name in dict.fromkeys([*ordered, *found])]


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages that are outside of docs/."""
    from mkdocs.structure.files import File  # noqa: PLC0415 # tests import this module without MkDocs

    for place, source in _PLACES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: "Page", **_: Any) -> str:
    """Return the page with links of the site, and blank lines where Python-Markdown needs them."""
    place = page.file.src_uri
    page.meta["search"] = {"boost": _boost(place)}
    source = _PLACES.get(place, f"docs/{place}")
    return convert_page(markdown, source, place)


def convert_page(markdown: str, source: str, place: str) -> str:
    """Return the page at `source` of the repository as it is at `place` of the site."""
    return "".join(_converted(markdown, source, place))


def _boost(place: str) -> float:
    """Return the weight of a page in the search: tasks first, facts that code cites last."""
    folder, _, name = place.rpartition("/")
    return 4.0 if folder == "tasks" and name != "README.md" else 0.25 if folder else 1.0


def _converted(markdown: str, source: str, place: str) -> Iterator[str]:
    """Convert a page, its code blocks aside."""
    end = 0
    for fence in FENCE.finditer(markdown):
        yield _prose(markdown[end : fence.start()], source, place)
        yield fence[0]
        end = fence.end()
    yield _prose(markdown[end:], source, place)


def _prose(text: str, source: str, place: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        if _START_OF_BLOCK.match(line) and _is_paragraph(before):
            lines.append("")
        lines.append(line)
    return LINK.sub(lambda link: _link(link, source, place), "\n".join(lines))


def _is_paragraph(line: str) -> bool:
    return bool(line.strip()) and not re.match(r"[ |<#-]|\d+\. ", line)


def _link(link: re.Match[str], source: str, place: str) -> str:
    if _ELSEWHERE.match(link[1]):
        return link[0]
    path, hash_sign, anchor = link[1].partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    text = link[0][1 : link[0].index("](")]
    page = OUTSIDE.get(target)
    if page is None and target.startswith("docs/"):
        page = target.removeprefix("docs/")
        if not (ROOT / target).is_file() or page.startswith("examples/"):
            page = None
    if page is None:
        name = text.replace("`", "")
        shown = name if name == posixpath.basename(target) else f"{name} ({target})"
        return f'<code title="{target}">{name}</code>' if shown == name else f"{text} (`{target}`)"
    return (
        f"[{text}]({posixpath.relpath(page, posixpath.dirname(place) or '.')}{hash_sign}{anchor})"
    )
