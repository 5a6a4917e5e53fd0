"""Realm files of any form, where nothing has checked the types of members yet."""

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.admin.realm_files.former_members import with_current_members
from gateway.admin.realm_files.migration import migrated
from gateway.admin.realm_files.migration_steps import NEW_REALM, KnownObjects
from gateway.admin.realm_files.named_roles import parse_default_roles, protection_roles
from gateway.admin.realm_files.placeholders import unset_variables
from gateway.admin.realm_files.report import report_parts
from gateway.admin.realm_files.user_import import read_users
from gateway.domain.errors import InvalidInput
from gateway.domain.realm import Realm
from tests.support.set_clock import SetClock

_OPTIONAL: Final = {"authenticator": "auth-otp-form", "requirement": "OPTIONAL", "priority": 20}
_FILE: Final[dict[str, Any]] = {
    "realm": "old",
    "keycloakVersion": "4.8.3",
    "adminTheme": "keycloak",
    "accountTheme": "rh-sso",
    "browserFlow": "browser",
    "dockerAuthenticationFlow": "docker auth",
    "defaultRoles": ["boss"],
    "defaultDefaultClientScopes": ["profile"],
    "attributes": {"userProfileEnabled": "true"},
    "components": {"org.keycloak.userprofile.UserProfileProvider": [{"config": {}}]},
    "authenticationFlows": [
        {"alias": "browser", "authenticationExecutions": [_OPTIONAL, {"flowAlias": "forms"}]},
        {"alias": "http challenge", "authenticationExecutions": [{"flowAlias": "basic"}]},
        {"alias": "forms", "providerId": "form-flow", "authenticationExecutions": []},
        {"alias": "first broker login", "authenticationExecutions": []},
    ],
    "requiredActions": [
        {"alias": "VERIFY_EMAIL", "providerId": "VERIFY_EMAIL", "priority": 50},
        {"alias": "terms_and_conditions", "priority": 20},
        {"alias": "CONFIGURE_TOTP", "priority": 10},
    ],
    "clientScopes": [{"name": "acr", "attributes": {"is.dynamic.scope": "true"}}],
    "clients": [
        {
            "clientId": "admin-cli",
            "protocol": "openid-connect",
            "secret": "s",
            "publicClient": False,
            "authorizationServicesEnabled": True,
            "serviceAccountsEnabled": True,
            "attributes": {"a": "b"},
            "defaultClientScopes": ["profile"],
            "defaultRoles": ["own"],
        }
    ],
    "users": [
        {
            "username": "anna",
            "requiredActions": ["verify_email"],
            "credentials": [
                {
                    "type": "password",
                    "hashedSaltedValue": "aGFzaA==",
                    "salt": "c2FsdA==",
                    "hashIterations": 100,
                    "algorithm": "pbkdf2",
                },
                {
                    "type": "totp",
                    "hashedSaltedValue": "c2VjcmV0",
                    "digits": 6,
                    "counter": 0,
                    "period": 30,
                    "algorithm": "HmacSHA1",
                },
            ],
        }
    ],
}
_KNOWN: Final = KnownObjects(is_new=False, actions=frozenset({"idp_link"}))
Path = tuple[str | int, ...]


def _paths(value: Any, path: Path = ()) -> list[Path]:
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [
        *([path] if path else ()),
        *(one for key, each in inner for one in _paths(each, (*path, key))),
    ]


_NAMES: Final = st.sampled_from(
    ["browser", "OPTIONAL", "VERIFY_EMAIL", "totp", "password", "**********", "${X}", "-1", "12"]
)
_LONG: Final = st.sampled_from(["9" * 5000, "9" * 20, 2**63 - 1, -(2**63) + 1, 0.5, "\u0663"])
_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | _LONG | _NAMES,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(_NAMES | st.sampled_from(["alias", "type"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_VERSIONS: Final = st.sampled_from([None, "4.8.3", "18.0.0", "24.0.2", "26.6.0", "26.7.0"])


def _replaced(path: Path, value: Any, document: dict[str, Any]) -> None:
    """Put the value at the path, unless an earlier change has removed it."""
    inner: Any = document
    for key in path[:-1]:
        try:
            inner = inner[key]
        except (KeyError, IndexError, TypeError):
            return
    last: Any = path[-1]
    if (isinstance(inner, dict) and isinstance(last, str)) or (
        isinstance(inner, list) and last in range(len(inner))
    ):
        inner[last] = value


def _read(document: dict[str, Any], known: KnownObjects) -> None:
    list(unset_variables(document))
    current = migrated(with_current_members(document), known)
    for read in (
        lambda: read_users(
            current, Realm("id", "old"), "", SetClock(datetime(2026, 1, 1, tzinfo=UTC))
        ),
        lambda: parse_default_roles(current, ""),
        lambda: protection_roles(current, ""),
        lambda: report_parts(current),
    ):
        try:
            read()
        except InvalidInput:
            continue


@settings(max_examples=600)
@given(st.lists(st.tuples(st.sampled_from(_paths(_FILE)), _VALUES), max_size=3), _VERSIONS)
@example([(("users", 0, "credentials", 0, "hashIterations"), "9" * 5000)], None)
def test_members_of_any_type_are_read_or_refused(
    changes: list[tuple[Path, Any]], version: str | None
) -> None:
    document = deepcopy({**_FILE, "keycloakVersion": version})
    for path, value in changes:
        _replaced(path, deepcopy(value), document)
    for known in (NEW_REALM, _KNOWN):
        _read(deepcopy(document), known)


def test_every_member_may_be_a_list_an_object_or_a_number() -> None:
    values: tuple[Any, ...] = ([], [[]], {}, [{}], 5, "9" * 5000, None, True)
    for path in _paths(_FILE):
        for value in values:
            document = deepcopy(_FILE)
            _replaced(path, value, document)
            for known in (NEW_REALM, _KNOWN):
                _read(deepcopy(document), known)


def test_of_a_field_and_its_attribute_the_attribute_counts() -> None:
    document = {
        "clientSessionIdleTimeout": 7,
        "failureFactor": 30,
        "bruteForceProtected": True,
        "displayName": "A",
        "browserSecurityHeaders": {"xFrameOptions": "DENY", "referrerPolicy": "no-referrer"},
        "attributes": {
            "clientSessionIdleTimeout": "9",
            "failureFactor": "4",
            "bruteForceProtected": "false",
            "_browser_header.xFrameOptions": "DENY",
            "_browser_header.referrerPolicy": "origin",
            "plant": "north",
        },
    }
    expected = {
        "clientSessionIdleTimeout": "9",
        "failureFactor": "4",
        "bruteForceProtected": "false",
        "attributes": {
            "clientSessionIdleTimeout": "9",
            "_browser_header.referrerPolicy": "origin",
            "plant": "north",
        },
    }
    for is_new in (True, False):
        found = with_current_members(document, is_new=is_new)
        assert {name: found[name] for name in expected} == expected
        assert with_current_members(found, is_new=is_new) == found


def test_settings_of_authorization_switch_it_on() -> None:
    client = {"clientId": "api", "authorizationSettings": {"resources": []}}
    for said, expected in (({}, True), ({"authorizationServicesEnabled": False}, None)):
        (found,) = with_current_members({"clients": [client | said]})["clients"]
        assert found.get("serviceAccountsEnabled") is expected
