"""What the scripts share that generate tables of a documentation page."""

import sys
from pathlib import Path


def write_or_check(page: Path, text: str) -> int:
    """Write the page; with the flag `--check` return 1 where it differs from `text`, else 0."""
    if "--check" in sys.argv[1:]:
        return int(page.read_text(encoding="utf-8") != text)
    page.write_text(text, encoding="utf-8")
    return 0
