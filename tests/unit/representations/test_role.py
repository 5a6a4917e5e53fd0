"""Reading the roles of a realm file. Keycloak: RolesRepresentation."""

from typing import Any

import pytest

from gateway.domain.errors import InvalidInput
from gateway.representations.roles import RoleInput, RoleName, parse_role_names, parse_roles


def refused(roles: Any) -> set[str]:
    with pytest.raises(InvalidInput) as refusal:
        parse_roles(roles, "roles")
    return {error.path for error in refusal.value.errors}


@pytest.mark.parametrize("name", ["a\nb", "a\0", "a\u202eb", "a\u200b", " a", "", "a" * 256, []])
def test_a_misleading_name_is_refused_in_every_place(name: Any) -> None:
    assert refused({"realm": [{"name": name}]}) == {"roles.realm[0].name"}
    part = {"name": "a", "composites": {"realm": [name]}}
    assert refused({"realm": [part]}) == {"roles.realm[0].composites.realm[0]"}
    with pytest.raises(InvalidInput):
        parse_role_names(("realmRoles", [name]), ("clientRoles", None))


def test_a_name_may_have_spaces_inside_and_any_letters() -> None:
    name = "Leitung: Büro 1"
    assert parse_roles({"realm": [{"name": name}]}, "roles") == (
        RoleInput(RoleName(name), None, (), "roles.realm[0]"),
    )


@pytest.mark.parametrize("wrong", [[], {}, "", 0, False])
def test_an_empty_value_of_another_shape_is_refused(wrong: Any) -> None:
    if wrong != {}:
        assert refused(wrong) == {"roles"}
        assert refused({"client": wrong}) == {"roles.client"}
    if wrong != []:
        assert refused({"realm": wrong}) == {"roles.realm"}


def test_null_brings_nothing() -> None:
    assert parse_roles(None, "roles") == ()
    assert parse_roles({"realm": None, "client": None}, "roles") == ()
