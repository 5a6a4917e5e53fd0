"""Placeholders of realm files, as Keycloak 26.7 replaces them."""

import pytest

from gateway.admin.realm_files.lines import find_lines
from gateway.admin.realm_files.placeholders import (
    EndlessPlaceholderError,
    replace_placeholders,
    unset_variables,
)

VARIABLES = {"A": "va", "B": "${A}", "E": "", "Q": 'x"y'}


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("${A}", "va"),
        ("${X}", "${X}"),
        ("${X:d}", "d"),
        ("${X:}", ""),
        ("${A:d}", "va"),
        ("$${A}", "$va"),
        (r"\${A}", r"\va"),
        ("${X,A}", "va"),
        ("${X,Y:z}", "z"),
        ("${}", "${}"),
        ("${/}", "/"),
        ("${:}", ":"),
        ("${X:${A}}", "va"),
        ("${X:${Y}}", "${Y}"),
        ('${X:{"a":1}}', '{"a":1}'),
        ("${B}", "va"),
        ("${E}", ""),
        ("${E:d}", ""),
        ("${A", "${A"),
        ("a${A}b${X}c${A}", "avab${X}cva"),
        ("${X:a:b}", "a:b"),
        ("${env.A}", "${env.A}"),
        ("$ {A}", "$ {A}"),
        ("${ A }", "${ A }"),
        ("${X:https://a/b}", "https://a/b"),
        ("${X:-d}", "-d"),
        ("$A", "$A"),
        ("${role_a} ${A}", "${role_a} va"),
        ("${Q}", 'x"y'),
    ],
)
def test_placeholders_are_replaced_as_by_keycloak(text: str, replaced: str) -> None:
    assert replace_placeholders(text, VARIABLES, 100) == replaced


@pytest.mark.parametrize(
    "variables", [{"A": "${A}x"}, {"A": "${B}", "B": "x${A}"}, {"A": "y" * 101}]
)
def test_a_placeholder_has_an_end(variables: dict[str, str]) -> None:
    with pytest.raises(EndlessPlaceholderError):
        replace_placeholders("${A}", variables, 100)


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({"displayName": "${of_a_page}", "description": "${role_admin}"}, []),
        ({"displayName": "${TITLE}"}, ["displayName"]),
        ({"clients": [{"rootUrl": "${authBaseUrl}"}]}, []),
        ({"clients": [{"secret": "${svc_secret}"}]}, ["clients[0].secret"]),
        ({"clients": [{"protocolMappers": [{"config": {"claim.name": "a.${client_id}"}}]}]}, []),
        ({"smtpServer": {"password": "${vault.smtp}", "host": "${host}"}}, ["smtpServer.host"]),
        ({"identityProviderMappers": [{"config": {"template": "${ALIAS}.${CLAIM.sub}"}}]}, []),
        ({"users": [{"attributes": {"a": ["${X}", "${Y}"]}}]}, ["users[0].attributes.a[0]"]),
    ],
)
def test_unset_variables_are_found_where_no_text_stands(
    document: dict[str, object], paths: list[str]
) -> None:
    found = [error.path for error in unset_variables(document)]
    assert found[: len(paths)] == paths
    assert bool(found) is bool(paths)


def test_the_line_of_a_member_is_found_by_its_path() -> None:
    text = '{"a": {\n"b": [1,\n{"c.d": "x\\"}",\n"e": null}]},\n"f": [\n[],\n{}]}'
    paths = {"a": 1, "a.b": 2, "a.b[1]": 3, "a.b[1].e": 4, "f[1]": 7, "a.b[0].none": 2}
    assert find_lines(text, paths) == paths
    assert find_lines(text, ["none"]) == {}
