"""QR codes as the path of an inline SVG: a page loads nothing to show one. Spec: ISO/IEC 18004.

segno is loaded with the first code: it takes 0.5 MB, and most workers show none.
"""

from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

_BORDER: Final = 4
"""Modules of white around the code, as the standard wants it."""


@dataclass(frozen=True, slots=True)
class QrCode:
    """A square of `size` modules, border included; `path` fills the dark ones."""

    size: int
    path: str = field(repr=False)


def qr_code(text: str) -> QrCode | None:
    """Return the code of a text; None for one that no code holds, of more than 2,331 bytes."""
    import segno  # noqa: PLC0415 - see above

    try:
        made = segno.make_qr(text, error="m")
    except segno.DataOverflowError:
        return None
    rows = list(made.matrix_iter(border=_BORDER))
    lines = (_dark_runs(bytes(row), y) for y, row in enumerate(rows))
    return QrCode(len(rows), "".join(lines))


def _dark_runs(row: bytes, y: int) -> str:
    parts, x = [], 0
    for is_dark, modules in groupby(row, bool):
        length = len(list(modules))
        if is_dark:
            parts.append(f"M{x} {y}h{length}v1h-{length}z")
        x += length
    return "".join(parts)
