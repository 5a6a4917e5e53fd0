"""Writes the tables of docs/admin-api.md: every operation, what it does, and who may.

`python -m scripts.admin_api_page`; with `--check` it only tells whether the page is as it would be.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from gateway.http.admin.operations import REALM, Decided, Operation, State
from scripts.admin_operations import read_operations
from scripts.generated_page import write_or_check

PAGE = Path(__file__).parents[1] / "docs" / "admin-api.md"
MARK = "<!-- tables -->\n"
"""What follows it on the page is made here."""
_TITLE = "\n### {tag}\n\n| method | path | what | state | who |\n|---|---|---|---|---|\n"


def page() -> str:
    """Return the whole page, what is written by hand as it stands."""
    text, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return text + mark + "".join(_tables(read_operations()))


def _tables(operations: Iterable[Operation]) -> Iterator[str]:
    by_tag: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        by_tag[operation.tag].append(operation)
    for tag, rows in sorted(by_tag.items(), key=lambda group: group[0].lower()):
        yield _TITLE.format(tag=tag)
        yield from map(_row, sorted(rows, key=lambda row: (row.path, row.method)))


def _row(row: Operation) -> str:
    path = (row.path.removeprefix(REALM) or "/").replace(":path}", "}")
    cells = (row.method, f"`{path}`", row.summary, row.state.value, _who(row))
    return f"| {' | '.join(cells)} |\n"


def _who(row: Operation) -> str:
    if row.state is State.NOT_HERE:
        return ""
    if row.allowed is Decided.ANY_ROLE:
        return "any role"
    if isinstance(row.allowed, Decided):
        return "by what is asked for"
    return " *and* ".join(
        ", ".join(f"`{role}`" for role in sorted(roles))
        for roles in (row.allowed, row.also)
        if roles
    )


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
