"""Writes the table of docs/realms.md: which settings of a realm have no effect yet.

`python -m scripts.realm_settings_page`; with `--check` it only tells whether the page is as it
would be.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gateway.representations.realms.fields import REALM_FIELDS
from gateway.representations.setting_effects.realm_rows import WAITING
from scripts.generated_page import write_or_check

PAGE = Path(__file__).parents[1] / "docs" / "realms.md"
MARK = "<!-- table -->\n"
"""What follows it on the page is made here."""


def page() -> str:
    """Return the whole page, what is written by hand as it stands."""
    text, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    return text + mark + "".join(_table())


def _table() -> Iterator[str]:
    places = {field.name: place for place, field in enumerate(REALM_FIELDS)}
    yield "\n| waits for | settings |\n|---|---|\n"
    for reason, names in WAITING.items():
        listed = ", ".join(f"`{name}`" for name in sorted(names, key=places.__getitem__))
        yield f"| {reason} | {listed} |\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
