"""Columns as wide as their longest entry, and numbers with their noun.

Characters that move the cursor or hide text are escaped: names come from users.
"""

from collections.abc import Iterable, Sequence

import click

_GAP = "  "


def show_rows(rows: Iterable[Sequence[str]]) -> None:
    """Print the rows; a column that is empty in all of them is left out."""
    kept = [tuple(map(visible, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    for row in kept:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width)
        click.echo(_GAP.join(cells).rstrip())


def counted(number: int, what: str) -> str:
    """Return `1 user`, `2 users`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def visible(text: str) -> str:
    """Return the text with characters that are not printable as escapes."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
