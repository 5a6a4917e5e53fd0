"""Writes the table of docs/forward-auth-outcomes.md from the outcomes that tests see.

`python -m scripts.forward_auth_outcomes_page`; with `--check` it returns whether the page is
current.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.generated_page import write_or_check

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs/forward-auth-outcomes.md"
OUTCOMES = _ROOT / "tests/system/forward_auth_outcomes.jsonl"
MARK = "<!-- table -->\n"
"""What follows it on the page is generated."""


def page() -> str:
    """Return the whole page; the text above the mark is kept."""
    text, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return text + mark + "".join(_table())


def _table() -> Iterator[str]:
    rows = [json.loads(line) for line in OUTCOMES.read_text(encoding="utf-8").splitlines()]
    columns = list(rows[0]["outcomes"])
    yield f"\n| the caller sends | {' | '.join(map(_heading, columns))} |\n"
    yield f"|{'---|' * (len(columns) + 1)}\n"
    for row in rows:
        cells = (_cell(row["outcomes"][column]) for column in columns)
        yield f"| {row['sent']} | {' | '.join(cells)} |\n"


def _heading(column: str) -> str:
    """Return the proxy and its way of verifying certificates."""
    proxy, mode = column.split(", ")
    return f"{proxy} `{mode}`"


def _cell(outcome: str) -> str:
    """Return the outcome, a reason or a kind of credential as code."""
    status, _, detail = outcome.partition(" ")
    return outcome if not status.isdecimal() or " " in detail else f"{status} `{detail}`"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
