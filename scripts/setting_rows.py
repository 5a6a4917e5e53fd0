"""Every setting of Keycloak 26.7 and what it does here, as docs/*.toml and the program say.

The documents hold what people read and the tests that show an effect. The program holds the
refusals, in gateway/representations/realms/refused_settings.py, and the fields that attributes
repeat.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from gateway.representations.realms.refused_settings import REFUSED_ATTRIBUTES, REFUSED_FIELDS
from gateway.representations.refused_settings import REFUSED_OF_SCOPES
from gateway.representations.repeated_settings import MIRRORED

_DOCS: Final = Path(__file__).parents[1] / "docs"
_WAITS_FOR: Final = "Waits for "
_ATTRIBUTES: Final = "Attributes"
_REPEATED: Final = (
    "tests/http/test_setting_effects.py::test_an_attribute_that_is_also_a_field_changes_the_field"
)


class Place(StrEnum):
    """Where a setting is written."""

    CLIENT_FIELD = "client"
    CLIENT_ATTRIBUTE = "client attribute"
    SCOPE_ATTRIBUTE = "client scope attribute"
    MAPPER_CONFIG = "protocol mapper configuration"
    REALM_FIELD = "realm"
    REALM_ATTRIBUTE = "realm attribute"
    EXECUTOR = "client policy executor"
    AUTHENTICATOR = "authenticator"


class Effect(StrEnum):
    """What a setting does."""

    WORKS = "works"
    STORED = "stored only"
    REFUSED = "refused"
    NOT_STORED = "not stored"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting.

    A `name` that ends with `*` covers every name with that beginning. `note` is the effect of a
    setting that works, why a stored one is harmless, or the reason of a refusal, and `sample` a
    value of it. `refuses` returns whether a value is refused, None where the documents of client
    policies decide it. `test` is the file that shows the effect.
    """

    place: Place
    name: str
    effect: Effect
    note: str = ""
    sample: Any = "x"
    test: str = ""
    refuses: Callable[[Any], bool] | None = None
    allowed: str = ""

    def covers(self, name: str) -> bool:
        if self.name.endswith("*"):
            return name.startswith(self.name[:-1])
        return name == self.name


@dataclass(frozen=True, slots=True)
class RealmSetting:
    """A setting of realms that acts.

    `source` is a section of the pages in docs/reference; `test` is the `file::function` that
    changes the setting over the admin API of a running gateway and sees the effect over HTTP.
    """

    name: str
    meaning: str
    source: str
    test: str


def _load(name: str) -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads((_DOCS / name).read_text(encoding="utf-8"))


_OF_REALMS: Final = {
    title: tuple(RealmSetting(**row) for row in rows)
    for title, rows in _load("realm-settings.toml").items()
}
REALM_SETTINGS: Final = {title: of for title, of in _OF_REALMS.items() if title != _ATTRIBUTES}
"""Fields of realms, by what they are about."""
REALM_ATTRIBUTES: Final = _OF_REALMS[_ATTRIBUTES]
"""Attributes of realms that are no fields."""
_REFUSED: Final = {
    (place, each.name): each
    for place, refused in (
        (Place.SCOPE_ATTRIBUTE, REFUSED_OF_SCOPES),
        (Place.REALM_FIELD, REFUSED_FIELDS),
        (Place.REALM_ATTRIBUTE, REFUSED_ATTRIBUTES),
    )
    for each in refused
}


def _row(place: Place, members: Mapping[str, Any]) -> SettingRow:
    effect = Effect(members["effect"])
    known = _REFUSED.get((place, members["name"]))
    given = {name: value for name, value in members.items() if name != "effect"}
    if known is None:
        return SettingRow(place=place, effect=effect, **given)
    return SettingRow(
        place=place,
        effect=effect,
        note=known.reason,
        refuses=known.refuses,
        allowed=known.allowed,
        **given,
    )


def _rows() -> Iterator[SettingRow]:
    listed = {
        Place(name): [_row(Place(name), members) for members in rows]
        for name, rows in _load("setting-effects.toml").items()
    }
    acting = [each for together in REALM_SETTINGS.values() for each in together]
    works = Effect.WORKS
    fields = [SettingRow(Place.REALM_FIELD, each.name, works, test=each.test) for each in acting]
    fields += listed[Place.REALM_FIELD]
    effects = {row.name: row.effect for row in fields}
    attributes = [
        SettingRow(Place.REALM_ATTRIBUTE, each.name, works, test=each.test)
        for each in REALM_ATTRIBUTES
    ]
    attributes += [
        SettingRow(
            Place.REALM_ATTRIBUTE, name, effects[field], f"The same as `{field}`", test=_REPEATED
        )
        for name, field in MIRRORED.items()
        if effects[field] is not Effect.REFUSED
    ]
    attributes += listed[Place.REALM_ATTRIBUTE]
    whole = {Place.REALM_FIELD: fields, Place.REALM_ATTRIBUTE: attributes}
    for place in Place:
        yield from whole.get(place, listed[place])


SETTING_ROWS: Final = tuple(_rows())
"""Every setting, by place."""


def _waiting() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in SETTING_ROWS:
        reason = _WAITING_REFUSED.get(row.name) or row.note.removeprefix(_WAITS_FOR)
        waits = row.note.startswith(_WAITS_FOR) or row.name in _WAITING_REFUSED
        if row.place is Place.REALM_FIELD and waits:
            found[reason] = (*found.get(reason, ()), row.name)
    return found


_WAITING_REFUSED: Final = {
    "adminPermissionsEnabled": "nothing: it is not part of this product",
    "clientPolicies": "the executors of client policies that do not act yet",
}
"""Fields that are refused with some values and have no effect with the others."""
WAITING: Final = _waiting()
"""Fields that are stored and returned, and have no effect yet, by what they wait for."""
