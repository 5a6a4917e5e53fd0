"""Generates the tables of docs/admin-api-operations.md: operations, states and roles.

`python -m scripts.admin_api_page`; with `--check` it only reports whether the page is current.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from gateway.http.admin.operations import REALM, Decided, Operation, State
from scripts.admin_operations import read_operations
from scripts.generated_page import with_tables, write_or_check

PAGE = Path(__file__).parents[1] / "docs" / "admin-api-operations.md"
_TITLE = "\n## {tag}\n\n| method | path | operation | state | roles |\n|---|---|---|---|---|\n"
_UNSUPPORTED = """
## Not supported

<details>
<summary>{count} operations of Keycloak that answer 501 or 404, by reason</summary>

| reason | operations |
|---|---|
{rows}
</details>
"""


def page() -> str:
    """Return the whole page."""
    operations = read_operations()
    supported = [row for row in operations if row.state is not State.NOT_SUPPORTED]
    unsupported = [row for row in operations if row.state is State.NOT_SUPPORTED]
    return with_tables(PAGE, (*_tables(supported), _unsupported(unsupported)))


def _tables(operations: Iterable[Operation]) -> Iterator[str]:
    by_tag: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        by_tag[operation.tag].append(operation)
    for tag, rows in sorted(by_tag.items(), key=lambda group: group[0].lower()):
        yield _TITLE.format(tag=tag)
        yield from map(_row, sorted(rows, key=lambda row: (row.path, row.method)))


def _unsupported(operations: list[Operation]) -> str:
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for row in sorted(operations, key=lambda row: (row.path, row.method)):
        by_reason[row.summary].append(f"{row.method} `{_path(row)}`")
    rows = "".join(f"| {why} | {', '.join(by_reason[why])} |\n" for why in sorted(by_reason))
    return _UNSUPPORTED.format(count=len(operations), rows=rows)


def _row(row: Operation) -> str:
    cells = (row.method, f"`{_path(row)}`", row.summary, row.state.value, _who(row))
    return f"| {' | '.join(cells)} |\n"


def _path(row: Operation) -> str:
    return (row.path.removeprefix(REALM) or "/").replace(":path}", "}")


def _who(row: Operation) -> str:
    if row.allowed is Decided.ANY_ROLE:
        return "any role"
    if row.allowed is Decided.ANY_BUT_IMPERSONATION:
        return "any role but `impersonation`"
    if isinstance(row.allowed, Decided):
        return "depends on the request"
    needed = [
        ", ".join(f"`{role}`" for role in sorted(roles))
        for roles in (row.allowed, row.also)
        if roles
    ]
    every = ["[every right](admin-api.md#settings-that-prove-accounts)"] if row.proven else []
    return " *and* ".join([*needed, *every])


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
