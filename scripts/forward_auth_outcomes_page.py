"""Writes the table of docs/forward-auth-outcomes.md from the outcomes that tests see.

`python -m scripts.forward_auth_outcomes_page`; with `--check` it returns whether the page is
current.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.generated_page import with_tables, write_or_check
from scripts.outcomes_table import outcomes_table, read_outcomes

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs/forward-auth-outcomes.md"
OUTCOMES = _ROOT / "tests/system/forward_auth_outcomes.jsonl"


def page() -> str:
    """Return the whole page."""
    return with_tables(PAGE, _tables())


def _tables() -> Iterator[str]:
    yield "\n"
    yield from outcomes_table(read_outcomes(OUTCOMES), "sent", "the caller sends")


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
