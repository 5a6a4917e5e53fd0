"""Writes the tables of docs/certificate-outcomes.md from the outcomes that tests see.

`python -m scripts.certificate_outcomes_page`; with `--check` it returns whether the page is
current.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.generated_page import write_or_check

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs/certificate-outcomes.md"
OUTCOMES = _ROOT / "tests/system/certificate_outcomes.jsonl"
MARK = "<!-- tables -->\n"
"""What follows it on the page is generated."""


def page() -> str:
    """Return the whole page; the text above the mark is kept."""
    text, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return text + mark + "".join(_tables())


def _tables() -> Iterator[str]:
    """Return a table for each way of use, in the order of the file."""
    rows = [json.loads(line) for line in OUTCOMES.read_text(encoding="utf-8").splitlines()]
    for use in dict.fromkeys(row["use"] for row in rows):
        yield f"\n## {use[0].upper()}{use[1:]}\n\n"
        own = [row for row in rows if row["use"] == use]
        columns = list(own[0]["outcomes"])
        yield f"| certificate | {' | '.join(map(_heading, columns))} |\n"
        yield f"|{'---|' * (len(columns) + 1)}\n"
        for row in own:
            cells = (_cell(row["outcomes"][column]) for column in columns)
            yield f"| {row['certificate']} | {' | '.join(cells)} |\n"


def _heading(column: str) -> str:
    """Return the proxy and its way of verifying certificates."""
    proxy, mode = column.split(" ")
    return f"{proxy} `{mode}`"


def _cell(outcome: str) -> str:
    """Return the outcome, a reason as code."""
    status, _, detail = outcome.partition(" ")
    is_reason = status.isdecimal() and detail and " " not in detail
    return f"{status} `{detail}`" if is_reason else outcome


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
