"""Writes the tables of docs/effects-of-settings.md: what each setting of Keycloak does.

`python -m scripts.setting_effects_page`; with `--check` it returns whether the page is current.
"""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from scripts.generated_page import with_tables, write_or_check
from scripts.setting_rows import SETTING_ROWS, Effect, Place, SettingRow

PAGE = Path(__file__).parents[1] / "docs" / "effects-of-settings.md"
_TITLES = {
    Place.CLIENT_FIELD: "Fields of clients",
    Place.CLIENT_ATTRIBUTE: "Attributes of clients",
    Place.SCOPE_ATTRIBUTE: "Attributes of client scopes",
    Place.MAPPER_CONFIG: "Configuration of protocol mappers",
    Place.REALM_FIELD: "Fields of realms",
    Place.REALM_ATTRIBUTE: "Attributes of realms",
    Place.EXECUTOR: "Executors of client policies",
    Place.AUTHENTICATOR: "Authenticators of flows",
}
_ORDER = tuple(Effect)


def page() -> str:
    """Return the whole page."""
    return with_tables(PAGE, _tables())


def _tables() -> Iterator[str]:
    for place, title in _TITLES.items():
        rows = [row for row in SETTING_ROWS if row.place is place]
        yield f"\n## {title}\n\n| setting | effect | |\n|---|---|---|\n"
        rows.sort(key=lambda row: (_ORDER.index(row.effect), _note(row), row.name))
        for (effect, note), same in groupby(rows, key=lambda row: (row.effect, _note(row))):
            names = ", ".join(f"`{row.name}`" for row in same)
            yield f"| {names} | {effect} | {note} |\n"


def _note(row: SettingRow) -> str:
    if row.effect is not Effect.REFUSED:
        return row.note
    return f"Allowed: {row.allowed}. Any other value is refused: {row.note}"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
