"""The settings of a realm that are said to have no effect are those that no rule reads."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.representations.field_table import Setting, StoredOnly, camel_case
from gateway.representations.realms.fields import REALM_FIELDS
from scripts import realm_settings_page
from scripts.setting_rows import REALM_ATTRIBUTES, REALM_SETTINGS, WAITING, RealmSetting
from tests.support.setting_reads import Read, settings_read

ROOT = Path(__file__).parents[2] / "gateway"
RULES = (
    "protocol",
    "authentication",
    "password_policies",
    "http",
    "listeners",
    "storage",
    "domain",
    "admin",
)
_OF_THE_REALM = ROOT / "domain" / "realm"
_STORED = ROOT / "storage" / "sql" / "realms.py"
WITHOUT_EFFECT = frozenset(name for names in WAITING.values() for name in names)
READ_OTHERWISE = {"attributes", "defaultRole", "defaultSignatureAlgorithm", "id", "realm"}
"""What rules read under another name."""
READ_FOR_KEYS = {"accessTokenLifespanForImplicitFlow"}
"""How long tokens may live says how long keys are kept, whatever issues them."""
SETTINGS = [field for field in REALM_FIELDS if isinstance(field, Setting)]
DESCRIBED = [each for together in REALM_SETTINGS.values() for each in together]
_SPECIFIED_NAME = re.compile(r"`([a-z_]+)`")


@pytest.fixture(scope="module")
def rules() -> set[Read]:
    """Return what the rules read."""
    files = (file for room in RULES for file in _files(room))
    others = (file for file in files if file != _STORED)
    return {read for file in others for read in settings_read(ast.parse(file.read_text()))}


def test_every_setting_that_is_listed_exists() -> None:
    known = {field.name for field in REALM_FIELDS}
    listed = [name for names in WAITING.values() for name in names]
    assert known >= set(listed)
    assert len(listed) == len(set(listed))


def test_what_is_kept_without_a_rule_is_listed() -> None:
    kept = {field.name for field in REALM_FIELDS if isinstance(field, StoredOnly)}
    assert kept - WITHOUT_EFFECT == set()


@pytest.mark.parametrize("field", SETTINGS, ids=lambda field: str(field.name))
def test_a_setting_is_listed_or_some_rule_reads_it(field: Setting, rules: set[Read]) -> None:
    read = (field.group, field.attribute) in rules
    assert read or field.name in WITHOUT_EFFECT | READ_OTHERWISE


@pytest.mark.parametrize(
    "field",
    [field for field in SETTINGS if field.name in WITHOUT_EFFECT - READ_FOR_KEYS],
    ids=lambda field: str(field.name),
)
def test_no_rule_reads_what_is_listed(field: Setting, rules: set[Read]) -> None:
    assert (field.group, field.attribute) not in rules


@pytest.mark.parametrize(
    "code",
    [
        "realm.otp_policy.digits",
        "def check(policy: OtpPolicy): return policy.digits",
        "def check(policy: OtpPolicy | None): return policy.digits",
        "policy = realm.otp_policy\nuse(policy.digits)",
        "a, policy = 1, realm.otp_policy\nuse(policy.digits)",
        "class Rule:\n    policy: OtpPolicy\n    def check(self): return self.policy.digits",
    ],
)
def test_an_attribute_of_its_group_is_read(code: str) -> None:
    assert ("otp_policy", "digits") in settings_read(ast.parse(code))


def test_the_same_attribute_of_another_object_does_not_count() -> None:
    code = "def check(credential: OneTimePassword): return credential.digits"
    assert ("otp_policy", "digits") not in settings_read(ast.parse(code))


def _specified() -> list[str]:
    """Return the names of the settings in the table of the specification."""
    text = (ROOT.parent / "docs/reference/specification.md").read_text()
    table = text.partition("### 2.1 ")[2].partition("\n### ")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [camel_case(name) for cell in first_cells for name in _SPECIFIED_NAME.findall(cell)]


def test_each_of_the_32_specified_settings_is_described() -> None:
    specified = _specified()
    assert len(specified) == 32
    cited = {each.name for each in DESCRIBED if each.source.startswith("Spec: ")}
    assert cited == set(specified)


def test_a_setting_is_described_once_or_waits_for_something() -> None:
    names = [each.name for each in DESCRIBED]
    assert len(names) == len(set(names))
    known = {field.name for field in REALM_FIELDS}
    assert known - set(names) == WITHOUT_EFFECT
    assert set(names) <= known


@pytest.mark.parametrize("setting", [*DESCRIBED, *REALM_ATTRIBUTES], ids=lambda each: each.name)
def test_described_settings_have_http_tests_and_valid_sources(
    setting: RealmSetting,
) -> None:
    """That the function exists is tested with the other rows."""
    kind, _, section = setting.source.partition(": ")
    assert section in realm_settings_page.sections(kind)
    assert re.fullmatch(r"tests/(http|spec)/test_\w+\.py::test_\w+", setting.test)
    assert setting.meaning


def test_every_attribute_about_certificates_is_described() -> None:
    """Those of the domain: a rule that is not described is not found by operators."""
    own = re.compile(r'"(realmgate\.certificates\.[\w.]+)"')
    named = {name for file in _OF_THE_REALM.glob("*.py") for name in own.findall(file.read_text())}
    assert named == {
        each.name for each in REALM_ATTRIBUTES if each.name.startswith("realmgate.certificates.")
    }


def test_the_page_lists_the_same() -> None:
    assert realm_settings_page.PAGE.read_text() == realm_settings_page.page()


def test_rules_read_groups_of_a_realm_and_no_attributes() -> None:
    """A group is parsed once for each realm, an attribute at each use."""
    files = (file for room in (*RULES, "certificates", "crypto") for file in _files(room))
    readers = {
        str(file.relative_to(ROOT))
        for file in files
        if (None, "attributes") in settings_read(ast.parse(file.read_text()))
    }
    assert readers == set()


def _files(room: str) -> Iterator[Path]:
    where = ROOT / room
    files = where.rglob("*.py") if where.is_dir() else iter([where.with_suffix(".py")])
    return (file for file in files if _OF_THE_REALM not in file.parents)
