"""Paths of groups and names of roles: no two of them are written the same.

Keycloak: groups, `escape-slashes-in-group-path`; attacks: B6
"""

from dataclasses import replace
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.forward_auth import Allowed, PathPattern, Requirements, Rule, Site
from gateway.domain.groups import (
    canonical_group_path,
    is_at_or_below,
    parse_group_path,
    parse_names,
    plain_group_path,
    render_group_path,
    render_names,
)
from gateway.domain.roles import parse_client_role, render_client_role
from gateway.forward_auth.decisions import decide_for_caller
from gateway.forward_auth.identity_headers import identity_headers
from gateway.representations.site_rules import CLIENT_ROLE, GROUP
from tests.support.site_identities import ADA

NAMES = st.text("a~/, %é\r\n", min_size=1, max_size=6)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(tuple)
SITE = Site("app", ("app.test",), ("staff",), ())
RULE = Rule("rule", (PathPattern("/*"),))


def test_a_slash_in_a_name_is_escaped_as_in_keycloak() -> None:
    for names, path, plain in (
        (("admins", "x"), "/admins/x", "/admins/x"),
        (("admins/x",), "/admins~/x", "/admins/x"),
        (("a~b", "c~d"), "/a~b/c~d", "/a~b/c~d"),
        (("a~", "b"), "/a~~/b", "/a~/b"),
        (("a~/b",), "/a~~~/b", "/a~/b"),
        (("a~",), "/a~~", "/a~"),
        (("/",), "/~/", "//"),
    ):
        assert (render_group_path(names), plain_group_path(names)) == (path, plain)
        assert parse_group_path(path) == names
    assert parse_group_path("/a~") == ("a~",)
    assert parse_group_path("/") == parse_group_path("") == ()


@given(PATHS)
def test_a_path_has_the_names_that_it_was_made_of(names: tuple[str, ...]) -> None:
    assert parse_group_path(render_group_path(names)) == names
    assert parse_names(render_names(names)) == names


@given(st.text("a~/", max_size=8))
def test_every_text_is_the_path_of_some_names(text: str) -> None:
    names = parse_names(text)
    assert parse_names(render_names(names)) == names
    canonical = canonical_group_path(f"/{text}")
    assert canonical_group_path(canonical) == canonical


@given(PATHS, PATHS)
def test_a_rule_covers_the_group_and_its_descendants_alone(
    above: tuple[str, ...], names: tuple[str, ...]
) -> None:
    """Also where a name looks like a path, and however the rule spells it."""
    for group in (names, (*above, *names)):
        below = group[: len(above)] == above
        path = GROUP.read(render_group_path(above), "groups[0]")
        assert is_at_or_below(render_group_path(group), path) is below
        rule = replace(RULE, requirements=Requirements(groups=(path,)))
        decision = decide_for_caller(SITE, rule, replace(ADA, groups=(render_group_path(group),)))
        assert isinstance(decision, Allowed) is below


@given(st.lists(st.tuples(NAMES, NAMES), max_size=4), st.lists(NAMES, max_size=4))
def test_no_two_roles_have_the_same_element_of_the_header(
    client_roles: list[tuple[str, str]], realm_roles: list[str]
) -> None:
    """Decoded, an element is one realm role or one role of one client, and none is lost."""
    identity = replace(
        ADA,
        realm_roles=frozenset(realm_roles),
        client_roles=frozenset(render_client_role(*role) for role in client_roles),
    )
    header = dict(identity_headers(identity)).get("Remote-Roles", "")
    elements = [unquote(element) for element in header.split(",")] if header else []
    assert len(elements) == len(set(realm_roles)) + len(set(client_roles))
    found = [(element, parse_names(element)) for element in elements]
    assert {names[0] for _, names in found if len(names) == 1} == set(realm_roles)
    read = {parse_client_role(element) for element, names in found if len(names) > 1}
    assert read == set(client_roles)


@given(NAMES, NAMES)
def test_a_rule_names_each_role_of_a_client(client_id: str, role: str) -> None:
    text = render_client_role(client_id, role)
    assert parse_client_role(text) == (client_id, role)
    assert CLIENT_ROLE.read(text, "clientRoles[0]") == text


@given(st.lists(PATHS, max_size=4))
def test_no_two_groups_have_the_same_element_of_the_header(paths: list[tuple[str, ...]]) -> None:
    identity = replace(ADA, groups=tuple(map(render_group_path, paths)))
    header = dict(identity_headers(identity)).get("Remote-Groups", "")
    assert header.isprintable()
    elements = [unquote(element) for element in header.split(",")] if header else []
    assert [parse_group_path(element) for element in elements] == paths


@given(st.text(), st.text())
def test_no_two_users_have_the_same_header(one: str, other: str) -> None:
    """Line ends, commas and blanks around a name are encoded or kept."""
    headers = [dict(identity_headers(replace(ADA, username=name))) for name in (one, other)]
    values = [header.get("Remote-User", "") for header in headers]
    assert (values[0] == values[1]) is (one == other)
    assert all(value.isprintable() and value == value.strip() for value in values)
