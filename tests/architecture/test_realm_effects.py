"""The settings of a realm that are said to have no effect are those that no rule reads."""

import re
from pathlib import Path

import pytest

from gateway.representations.field_table import Kept, Setting
from gateway.representations.realms.fields import REALM_FIELDS
from gateway.representations.setting_effects.realm_effects import WAITING, WITHOUT_EFFECT
from scripts import realm_settings_page

ROOT = Path(__file__).parents[2] / "gateway"
RULES = (
    "protocol",
    "authentication",
    "policies",
    "http",
    "listeners",
    "storage",
    "domain",
    "admin",
)
_OF_THE_REALM = ROOT / "domain" / "realm"
_STORED = ROOT / "storage" / "sql" / "realms" / "repository.py"
READ_OTHERWISE = {"defaultRole", "id", "realm"}
"""What rules read under another name."""
READ_FOR_KEYS = {"accessTokenLifespanForImplicitFlow"}
"""How long tokens may live says how long keys are kept, whatever issues them."""
SETTINGS = [field for field in REALM_FIELDS if isinstance(field, Setting)]


def sources() -> list[str]:
    files = (file for room in RULES for file in (ROOT / room).rglob("*.py"))
    others = (file for file in files if _OF_THE_REALM not in file.parents and file != _STORED)
    return [file.read_text() for file in others]


@pytest.fixture(scope="module")
def rules() -> str:
    return "\n".join(sources())


def test_every_setting_that_is_listed_exists() -> None:
    known = {field.name for field in REALM_FIELDS}
    listed = [name for names in WAITING.values() for name in names]
    assert known >= set(listed)
    assert len(listed) == len(set(listed))


def test_what_is_kept_without_a_rule_is_listed() -> None:
    kept = {field.name for field in REALM_FIELDS if isinstance(field, Kept)}
    assert kept - WITHOUT_EFFECT == set()


@pytest.mark.parametrize("field", SETTINGS, ids=lambda field: str(field.name))
def test_a_setting_is_listed_or_some_rule_reads_it(field: Setting, rules: str) -> None:
    read = re.search(rf"\.{field.attribute}\b", rules) is not None
    assert read or field.name in WITHOUT_EFFECT | READ_OTHERWISE


@pytest.mark.parametrize(
    "field",
    [field for field in SETTINGS if field.name in WITHOUT_EFFECT - READ_FOR_KEYS],
    ids=lambda field: str(field.name),
)
def test_no_rule_reads_what_is_listed(field: Setting, rules: str) -> None:
    owner = "realm" if field.group is None else field.group
    found = re.search(rf"\b{owner}\.{field.attribute}\b", rules)
    assert found is None, found


def test_the_page_lists_the_same() -> None:
    assert realm_settings_page.PAGE.read_text() == realm_settings_page.page()
