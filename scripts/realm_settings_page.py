"""Writes the tables of docs/realm-settings.md: what each setting of a realm means and who tests it.

`python -m scripts.realm_settings_page`; with `--check` it returns whether the page is current.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from gateway.domain.realm import Realm
from gateway.representations.field_table import Setting
from gateway.representations.realms.fields import REALM_FIELDS
from gateway.representations.realms.special_fields import DefaultRole, SecurityHeadersMap, SmtpMap
from gateway.representations.shapes import Choice, Count, Duration, Flag, OneOf, TextList, TextMap
from scripts.check_links import anchor_of
from scripts.generated_page import with_tables, write_or_check
from scripts.setting_rows import REALM_ATTRIBUTES, REALM_SETTINGS, WAITING, RealmSetting

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "realm-settings.md"
_HEADING = re.compile(r"^#+ ((\d+(?:\.\d+)*)\.? .*)$", re.MULTILINE)
_SHAPES = {entry.name: entry.shape for entry in REALM_FIELDS}


def page() -> str:
    """Return the whole page."""
    return with_tables(PAGE, _tables())


def _tables() -> Iterator[str]:
    for title, settings in REALM_SETTINGS.items():
        yield f"\n## {title}\n\n"
        yield "| setting | meaning | unit or values | in a new realm | source and test |\n"
        yield "|---|---|---|---|---|\n"
        for each in settings:
            cells = (f"`{each.name}`", each.meaning, _unit(each.name), _default(each.name))
            yield f"| {' | '.join(cells)} | {_source(each)}; {_test(each)} |\n"
    yield "\n## Attributes\n\n| attribute | meaning | source and test |\n|---|---|---|\n"
    for each in REALM_ATTRIBUTES:
        yield f"| `{each.name}` | {each.meaning} | {_source(each)}; {_test(each)} |\n"
    yield from _without_effect()


def _without_effect() -> Iterator[str]:
    places = {field.name: place for place, field in enumerate(REALM_FIELDS)}
    yield "\n## Settings without effect\n\n"
    yield "These are validated, stored and returned unchanged, except for\n"
    yield "[values that are refused](effects-of-settings.md).\n\n"
    yield "| waits for | settings |\n|---|---|\n"
    for reason, names in WAITING.items():
        listed = ", ".join(f"`{name}`" for name in sorted(names, key=places.__getitem__))
        yield f"| {reason} | {listed} |\n"


def _unit(name: str) -> str:
    """Return the unit of a number, or which values there are."""
    match shape := _SHAPES[name]:
        case Duration():
            return "seconds" if shape.unit.total_seconds() == 1 else "milliseconds"
        case Count():
            return shape.unit or "number"
        case Flag():
            return "`true` or `false`"
        case OneOf():
            return " or ".join(f"`{value}`" for value in shape.allowed)
        case Choice():
            return " or ".join(f"`{value}`" for value in shape.choices)
        case TextList():
            return "list of texts"
        case TextMap() | SecurityHeadersMap() | SmtpMap():
            return "texts by name"
        case DefaultRole():
            return "role"
        case _:
            return "text"


def _default(name: str) -> str:
    """Return the value in a realm for which nothing else was said."""
    entry = next(entry for entry in REALM_FIELDS if entry.name == name)
    if not isinstance(entry, Setting) or isinstance(entry.shape, TextMap):
        return ""
    realm = Realm("", "")
    value: Any = getattr(getattr(realm, entry.group) if entry.group else realm, entry.attribute)
    shown = "" if value is None else entry.shape.write(value)
    if isinstance(shown, bool):
        return f"`{str(shown).lower()}`"
    return f"`{shown}`" if isinstance(shown, int | str) and shown != "" else ""


def _source(setting: RealmSetting) -> str:
    kind, _, section = setting.source.partition(": ")
    file, heading = sections(kind)[section]
    name = "specification" if kind == "Spec" else "Keycloak"
    return f"[{name} {section}](reference/{file}#{anchor_of(heading)})"


@cache
def sections(kind: str) -> dict[str, tuple[str, str]]:
    """Return page and heading of each section of the specification or of Keycloak."""
    pattern = "specification.md" if kind == "Spec" else "keycloak*.md"
    return {
        number: (file.name, heading)
        for file in (DOCS / "reference").glob(pattern)
        for heading, number in _HEADING.findall(file.read_text(encoding="utf-8"))
    }


def _test(setting: RealmSetting) -> str:
    file, _, function = setting.test.partition("::")
    return f"[{Path(file).name}](../{file}) `{function}`"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
