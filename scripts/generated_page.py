"""What the scripts share that generate tables of a documentation page."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

MARK: Final = "<!-- tables -->\n"
"""What follows it on a page is generated."""


def with_tables(page: Path, tables: Iterable[str]) -> str:
    """Return the whole page with these tables; the text above the mark is kept."""
    return text_above(page) + MARK + "".join(tables)


def text_above(page: Path) -> str:
    """Return the text of a page above its tables."""
    return page.read_text(encoding="utf-8").partition(MARK)[0]


def write_or_check(page: Path, text: str) -> int:
    """Write the page; with the flag `--check` return 1 where it differs from `text`, else 0."""
    if "--check" in sys.argv[1:]:
        return int(page.read_text(encoding="utf-8") != text)
    page.write_text(text, encoding="utf-8")
    return 0
