"""Whatever decides how accounts are proven is on the list, and whatever does not is on the other.

A new member of a realm, a new attribute that acts and a new operation stand in one of the two parts
of `gateway.admin.access.account_proof`, or these tests fail.
"""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from gateway.admin.access.account_proof import (
    CLIENT_MEMBERS,
    OPERATIONS,
    REALM_ATTRIBUTES,
    REALM_MEMBERS,
    ProofList,
    attribute_proves,
    member_proves,
    operation_name,
    proven_by_operation,
)
from gateway.http.admin.operations import State
from gateway.representations.clients import CLIENT_FIELDS
from gateway.representations.realms import REALM_TABLE
from gateway.representations.repeated_settings import MIRRORED
from scripts.setting_rows import SETTING_ROWS, Place
from tests.support.admin_operations import operations

ADMIN = Path(__file__).parents[2] / "gateway" / "admin"
DOMAIN = ADMIN.parent / "domain"
OWN_ATTRIBUTE = re.compile(r'"(realmgate\.[\w.]+)"')
ONLY_IN_KEYCLOAK = {"userCacheEnabled", "realmCacheEnabled", "oid4VciEnabled"}
"""Members of Keycloak's RealmRepresentation, 26.7 and before, that the gateway refuses."""
FILES = {"realm_files/plan.py", "realms/administrators.py"}
"""Modules that store realms for the operator, or a new realm."""


def _in_both(*parts: Iterable[str]) -> set[str]:
    names = [name for part in parts for name in part]
    return {name for name in names if names.count(name) > 1}


def _changing_operations() -> set[str]:
    return {
        operation_name(row.method, row.path)
        for row in operations()
        if row.method != "GET" and row.state is not State.NOT_SUPPORTED
    }


def test_every_member_of_a_realm_is_on_one_of_the_lists() -> None:
    listed = REALM_MEMBERS.proving.keys() | REALM_MEMBERS.harmless.keys()
    assert listed == {*REALM_TABLE.shapes, *REALM_TABLE.beside, *ONLY_IN_KEYCLOAK}


def test_every_attribute_that_acts_is_on_one_of_the_lists() -> None:
    listed = REALM_ATTRIBUTES.proving.keys() | REALM_ATTRIBUTES.harmless.keys()
    assert (
        listed
        == {row.name for row in SETTING_ROWS if row.place is Place.REALM_ATTRIBUTE}
        - MIRRORED.keys()
    )


def test_every_own_attribute_that_a_rule_reads_is_listed() -> None:
    """Also one without a row of effects: the rules name their attributes in the domain."""
    files = [*(DOMAIN / "realm").glob("*.py"), DOMAIN / "mail.py", DOMAIN / "expiry.py"]
    read = {name for file in files for name in OWN_ATTRIBUTE.findall(file.read_text())}
    assert len(read) > 15
    assert {name for name in read if REALM_ATTRIBUTES.proves(name) is None} == set()


def test_an_attribute_that_repeats_a_member_has_a_listed_member() -> None:
    assert {field for field in MIRRORED.values() if REALM_MEMBERS.proves(field) is None} == set()


def test_every_member_of_a_client_is_on_one_of_the_lists() -> None:
    listed = CLIENT_MEMBERS.proving.keys() | CLIENT_MEMBERS.harmless.keys()
    assert listed == {*CLIENT_FIELDS.shapes, *CLIENT_FIELDS.beside}


def test_every_operation_is_on_one_of_the_lists() -> None:
    listed = {*OPERATIONS.proving, *OPERATIONS.of_settings, *OPERATIONS.harmless}
    assert listed == _changing_operations()


@pytest.mark.parametrize("listed", [REALM_MEMBERS, REALM_ATTRIBUTES, CLIENT_MEMBERS, OPERATIONS])
def test_nothing_is_on_both_lists_and_each_has_a_reason(listed: ProofList) -> None:
    parts = [listed.proving, listed.harmless, getattr(listed, "of_settings", {})]
    assert _in_both(*parts) == set()
    assert all(reason for part in parts for reason in part.values())


def test_an_operation_that_is_not_listed_stops_the_gateway() -> None:
    with pytest.raises(ValueError, match="POST /certificates/enrollments"):
        proven_by_operation("POST", "/admin/realms/{realm}/certificates/enrollments")


def test_a_name_that_is_not_listed_is_taken_to_prove_accounts() -> None:
    assert member_proves(REALM_MEMBERS, "trustedIssuers")
    assert member_proves(CLIENT_MEMBERS, "trustedIssuers")
    assert attribute_proves("realmgate.federation.anchors")
    assert not attribute_proves("team")
    assert not attribute_proves("actionTokenGeneratedByUserLifespan.verify-email")


def test_administrators_change_realms_in_one_way_alone() -> None:
    """By `Change.replace_realm`, which compares what was with what will be."""
    found = {
        str(file.relative_to(ADMIN))
        for file in ADMIN.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in {"add", "replace"}
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "realms"
    }
    assert found == {"changes.py", *FILES}
