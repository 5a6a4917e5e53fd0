"""Writes the tables of docs/certificate-outcomes.md from the outcomes that tests see.

`python -m scripts.certificate_outcomes_page`; with `--check` it returns whether the page is
current.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.generated_page import with_tables, write_or_check
from scripts.outcomes_table import outcomes_table, read_outcomes

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs/certificate-outcomes.md"
OUTCOMES = _ROOT / "tests/system/certificate_outcomes.jsonl"


def page() -> str:
    """Return the whole page."""
    return with_tables(PAGE, _tables())


def _tables() -> Iterator[str]:
    """Return a table for each way of use, in the order of the file."""
    rows = read_outcomes(OUTCOMES)
    for use in dict.fromkeys(row["use"] for row in rows):
        yield f"\n## {use[0].upper()}{use[1:]}\n\n"
        yield from outcomes_table(
            [row for row in rows if row["use"] == use], "certificate", "certificate"
        )


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
