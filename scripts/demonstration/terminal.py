"""What the demonstration prints."""

import json
import textwrap
from typing import Any

WIDTH, LONGEST = 100, 160
_BELOW: Any = {"initial_indent": " " * 16, "subsequent_indent": " " * 16}


class Terminal:
    """Aligned lines, and the memory of whether all went well."""

    def __init__(self, *, colour: bool) -> None:
        """Use ANSI colours where `colour` is set."""
        self._colour = colour
        self._number = 0
        self.failures = 0

    def heading(self, text: str) -> None:
        """Begin the next step."""
        self._number += 1
        print(f"\n{self.paint('1;36', str(self._number))}  {self.paint('1', text)}")

    def line(self, text: str) -> None:
        """Print something beside the point."""
        print("   " + self.paint("2", _cut(text, WIDTH - 3)))

    def field(self, name: str, value: object, note: str = "", width: int = 20) -> None:
        """Print one member of a JSON object, or one header; names take `width` columns."""
        text = value if isinstance(value, str) else json.dumps(value)
        room = WIDTH - width - 6 - (len(note) + 3 if note else 0)
        shown = f"     {name:<{width}} {_cut(text, room)}"
        print(self.paint("33", f"{shown}  ◀ {note}") if note else shown)

    def check(self, passed: bool, label: str, text: str, *more: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Print a result with its mark; of `more`, the last line explains what stands before."""
        self.failures += not passed
        mark = self.paint("32", "✓") if passed else self.paint("31", "✗ not as expected:")
        print(f"   {mark} {self.paint('1', f'{label:<10}')} {_cut(text, WIDTH - 16)}")
        for line in more[:-1]:
            print(textwrap.fill(textwrap.shorten(line, LONGEST, placeholder=" …"), WIDTH, **_BELOW))
        for line in more[-1:]:
            print(self.paint("2", textwrap.fill(line, WIDTH, **_BELOW)))

    def paint(self, code: str, text: str) -> str:
        """Colour `text`."""
        return f"\033[{code}m{text}\033[0m" if self._colour else text


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"
