"""Tables of the outcomes that tests see behind each proxy, kept as a JSON document a line."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
"""What was sent, and `outcomes` by proxy and mode, such as `nginx optional`."""


def read_outcomes(path: Path) -> list[Row]:
    """Return the rows of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def outcomes_table(rows: Sequence[Row], key: str, title: str) -> Iterator[str]:
    """Return the lines of a table; its first column is the member `key` of the rows."""
    columns = list(rows[0]["outcomes"])
    yield f"| {title} | {' | '.join(map(_heading, columns))} |\n"
    yield f"|{'---|' * (len(columns) + 1)}\n"
    for row in rows:
        cells = (_cell(row["outcomes"][column]) for column in columns)
        yield f"| {row[key]} | {' | '.join(cells)} |\n"


def _heading(column: str) -> str:
    """Return the proxy and its way of verifying certificates."""
    proxy, mode = column.split(" ")
    return f"{proxy} `{mode}`"


def _cell(outcome: str) -> str:
    """Return the outcome, a reason or a kind of credential as code."""
    status, _, detail = outcome.partition(" ")
    is_reason = status.isdecimal() and detail and " " not in detail
    return f"{status} `{detail}`" if is_reason else outcome
