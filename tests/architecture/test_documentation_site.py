"""The site has a place for every page, and links of its own: scripts/documentation_site.py."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.documentation_site import OUTSIDE, convert_page, list_pages, with_listed_pages

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def pages_of(entry: Any) -> Iterator[str]:
    """Yield the pages of a part of the navigation."""
    match entry:
        case str():
            yield entry
        case list():
            for each in entry:
                yield from pages_of(each)
        case dict():
            for each in entry.values():
                yield from pages_of(each)


def test_every_page_has_one_place_in_the_navigation() -> None:
    placed = [*pages_of(with_listed_pages(SETTINGS["nav"]))]
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")}
    assert sorted(placed) == sorted(pages | (set(OUTSIDE.values()) - {"README.md"}))


@pytest.mark.parametrize("folder", ["tasks", "decisions"])
def test_the_index_of_a_folder_links_to_its_pages(folder: str) -> None:
    index = ROOT / "docs" / folder / "README.md"
    text = index.read_text(encoding="utf-8")
    assert [page for page in list_pages(index) if f"({Path(page).name})" not in text] == []


def test_pages_follow_the_order_of_the_index(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "README"):
        (tmp_path / f"{name}.md").write_text("[c](c.md), [a](a.md#x), [c](c.md), [a](a.md)")
    found = list_pages(tmp_path / "README.md")
    assert [page.rpartition("/")[2] for page in found] == ["c.md", "a.md", "b.md"]


@pytest.mark.parametrize(
    ("source", "place", "text", "converted"),
    [
        ("docs/users.md", "users.md", "[a](clients.md#x)", "[a](clients.md#x)"),
        (
            "docs/users.md",
            "users.md",
            "[a](#x) [b](https://x.test/y)",
            "[a](#x) [b](https://x.test/y)",
        ),
        ("docs/users.md", "users.md", "[a](../nginx/README.md#x)", "[a](repository/nginx.md#x)"),
        ("nginx/README.md", "repository/nginx.md", "[a](../docs/users.md)", "[a](../users.md)"),
        (
            "docs/tasks/x.md",
            "tasks/x.md",
            "[a](../../CHANGELOG.md)",
            "[a](../repository/changelog.md)",
        ),
        (
            "docs/users.md",
            "users.md",
            "[test_edge.py](../tests/http/test_edge.py)",
            '<code title="tests/http/test_edge.py">test_edge.py</code>',
        ),
        ("docs/users.md", "users.md", "[the rule](../gateway/x.py)", "the rule (`gateway/x.py`)"),
        ("docs/a.md", "a.md", "text:\n- one\n- two", "text:\n\n- one\n- two"),
        ("docs/a.md", "a.md", "```sh\n[a](../x.py)\n```", "```sh\n[a](../x.py)\n```"),
    ],
)
def test_a_page_of_the_repository_becomes_one_of_the_site(
    source: str, place: str, text: str, converted: str
) -> None:
    assert convert_page(text, source, place) == converted
