"""Files of early versions with a wrong type anywhere are refused by their fields, or imported.

Each member of a file is replaced in turn, and the file is imported as far as the commit.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

import pytest

from gateway.admin.realm_files.dry_run import ImportDryRun
from gateway.admin.realm_files.files import RealmFile
from gateway.crypto.x509.reader import X509AuthorityParser
from gateway.domain.errors import InvalidInput
from gateway.domain.flows import DEFAULT_ACTIONS
from gateway.password_policies import NO_BLACKLISTS
from gateway.representations.flows import render_action
from gateway.representations.stored_user_profile import PROFILE_TYPE
from tests.support.realm_file_imports import FOLDER
from tests.support.realm_imports import ELLIPTIC, Imports

_STEPS: Final = [
    {"authenticator": "auth-cookie", "requirement": "ALTERNATIVE", "priority": 10},
    {"authenticator": "auth-otp-form", "requirement": "OPTIONAL", "priority": 20},
    {"authenticator": "auth-username-password-form", "requirement": "REQUIRED", "priority": 30},
]
_POLICY_TYPE: Final = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"
EARLY: Final[dict[str, Any]] = {
    "realm": "early",
    "keycloakVersion": "1.9.8.Final",
    **ELLIPTIC,
    "adminTheme": "keycloak",
    "browserFlow": "plant",
    "passwordPolicy": "hashIterations(20) and length(8)",
    "browserSecurityHeaders": {"contentSecurityPolicy": "frame-src 'self'"},
    "attributes": {"userProfileEnabled": "false", "failureFactor": "4"},
    "authenticationFlows": [
        {"alias": "plant", "providerId": "basic-flow", "topLevel": True, "builtIn": False}
        | {"authenticationExecutions": _STEPS}
    ],
    "requiredActions": [
        {"alias": "VERIFY_EMAIL", "name": "Verify", "providerId": "VERIFY_EMAIL", "priority": 50},
        {"alias": "terms_and_conditions", "name": "Terms", "providerId": "terms_and_conditions"},
    ],
    "components": {
        "org.keycloak.keys.KeyProvider": [
            {"name": "enc", "providerId": "rsa-generated", "config": {"keyUse": ["enc"]}}
        ],
        "org.keycloak.userprofile.UserProfileProvider": [
            {"providerId": "declarative-user-profile", "config": {}}
        ],
        _POLICY_TYPE: [
            {"name": "Allowed Client Templates", "providerId": "allowed-client-templates"}
            | {"subType": "anonymous", "config": {"allowed-client-templates": ["my scope"]}}
        ],
    },
    "clientScopes": [
        {"name": "my scope", "protocol": "openid-connect", "attributes": {"is.dynamic.scope": "f"}}
    ],
    "defaultDefaultClientScopes": ["my scope"],
    "defaultOptionalClientScopes": [],
    "clients": [
        {
            "clientId": "security-admin-console",
            "publicClient": True,
            "attributes": {"a": "b"},
            "defaultClientScopes": ["my scope"],
            "authorizationServicesEnabled": False,
        }
    ],
    "scopeMappings": [{"clientScope": "my scope", "roles": ["offline_access"]}],
    "clientScopeMappings": {"account": [{"clientScope": "my scope", "roles": ["manage-account"]}]},
    "users": [
        {
            "username": "anna",
            "requiredActions": ["verify_email"],
            "applicationRoles": {"account": ["manage-account"]},
            "credentials": [
                {
                    "type": "password",
                    "hashedSaltedValue": "aGFzaA==",
                    "salt": "c2FsdA==",
                    "hashIterations": 100,
                    "algorithm": "pbkdf2",
                },
                {"type": "totp", "hashedSaltedValue": "c2VjcmV0", "digits": 6, "period": 30},
            ],
        }
    ],
}
_OF_TEMPLATES: Final = ("1.9.8.Final", "3.4.3.Final")
VERSIONS: Final = (*_OF_TEMPLATES, "7.0.1", "23.0.7", None)
_VALUES: Final[tuple[Any, ...]] = ([], {}, 5, "x", None, True, [[]], [{}], {"x": {}})
_MADE: Final = (
    *("applications", "client-templates", "mixed-alternatives", "former-keys-and-accounts"),
)


def files() -> Iterator[dict[str, Any]]:
    text = json.dumps(EARLY)
    for version in VERSIONS:
        # Since version 4 no name of a client scope has spaces.
        named = text if version in _OF_TEMPLATES else text.replace("my scope", "my_scope")
        document = json.loads(named)
        yield {**document, "keycloakVersion": version}
    for name in _MADE:
        yield {**json.loads((FOLDER / f"{name}.json").read_text()), **ELLIPTIC}


def mutations(document: dict[str, Any], first: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield copies of the document with another value in one place, with the place.

    Each file has the values in other places, from the `first` on.
    """
    for number, path in enumerate(_places(document)):
        value = _VALUES[(first + number) % len(_VALUES)]
        changed = copy.deepcopy(document)
        _put(changed, path, copy.deepcopy(value))
        yield f"{document.get('keycloakVersion')} {path}: {value!r}", changed


def _put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    yield from chain.from_iterable(_places(each, (*path, key)) for key, each in inner)


async def fault_of(dry_run: ImportDryRun, document: dict[str, Any]) -> str | None:
    """Return the error of an import that is neither done nor refused by its fields."""
    try:
        await dry_run.run([RealmFile("0.json", document)])
    except InvalidInput:
        return None
    except Exception as error:  # noqa: BLE001 - the faults that the test looks for
        return repr(error)
    return None


@pytest.fixture
def dry_run(imports: Imports) -> ImportDryRun:
    return ImportDryRun(
        database=imports.database,
        keys=imports.keys,
        authorities=X509AuthorityParser(),
        clock=imports.clock,
        blacklists=NO_BLACKLISTS,
    )


async def test_a_wrong_type_anywhere_is_refused_or_without_effect(
    imports: Imports, dry_run: ImportDryRun
) -> None:
    """Every second file is merged into a realm of its name."""
    await imports.run(*({"realm": name, **ELLIPTIC} for name in ("known", "templates")))
    faults = []
    for first, file in enumerate(files()):
        document = {**file, "realm": "known"} if first % 2 else file
        for place, changed in mutations(document, first):
            fault = await fault_of(dry_run, changed)
            if fault is not None:
                faults.append(f"{place}: {fault}")
    assert faults == []


WRONG: Final[Mapping[str, tuple[tuple[Any, ...], tuple[Any, ...]]]] = {
    "provider of a key": (
        ("components", "org.keycloak.keys.KeyProvider", 0, "providerId"),
        (["x"], {"x": 1}, []),
    ),
    "requirement": (
        ("authenticationFlows", 0, "authenticationExecutions", 1, "requirement"),
        ({}, ["REQUIRED"], 5, "x"),
    ),
    "execution": (
        ("authenticationFlows", 0, "authenticationExecutions", 1),
        (5, "x", [], None),
    ),
    "executions": (("authenticationFlows", 0, "authenticationExecutions"), (5, "x", {"x": 1})),
    "config of the profile": (
        ("components", "org.keycloak.userprofile.UserProfileProvider", 0, "config"),
        (5, "x", ["x"], "", False, []),
    ),
    "name of a scope": (("clientScopes", 0, "name"), ({"x": 1}, ["x"], 5, None)),
}


@pytest.mark.parametrize("member", WRONG)
async def test_a_migration_never_hides_a_wrong_type(dry_run: ImportDryRun, member: str) -> None:
    path, values = WRONG[member]
    for file in [*files()][: len(VERSIONS)]:
        for value in values:
            changed = copy.deepcopy(file)
            _put(changed, path, value)
            with pytest.raises(InvalidInput):
                await dry_run.run([RealmFile("0.json", changed)])


async def test_a_merge_leaves_alone_what_the_file_does_not_name(
    imports: Imports, dry_run: ImportDryRun
) -> None:
    """Settings that a migration adds to new realms are those of a known one already."""
    actions = [
        {**render_action(each), "enabled": not each.enabled, "priority": each.priority + 7}
        for each in DEFAULT_ACTIONS
    ]
    profile = {"attributes": [{"name": "username"}, {"name": "email"}, {"name": "plant"}]}
    config = {"kc.user.profile.config": [json.dumps(profile)]}
    broker = {"alias": "own", "providerId": "basic-flow", "topLevel": True}
    await imports.run(
        {
            "realm": "early",
            **ELLIPTIC,
            "requiredActions": actions,
            "components": {PROFILE_TYPE: [{"config": config}]},
            "authenticationFlows": [broker],
            "firstBrokerLoginFlow": "own",
        }
    )
    for version in VERSIONS:
        document = {
            "realm": "early",
            "keycloakVersion": version,
            "requiredActions": [actions[0]],
            "components": {PROFILE_TYPE: [{"providerId": "declarative-user-profile"}]},
            "authenticationFlows": [{**broker, "alias": "first broker login"}],
        }
        (found,) = await dry_run.run([RealmFile("0.json", document)])
        changed = {one.field for one in found.changes}
        named = (f"requiredActions.{actions[0]['name']}", "authenticat")
        assert [field for field in changed if not field.startswith(named)] == []


async def test_the_files_that_are_changed_can_be_imported(imports: Imports) -> None:
    for file in files():
        await imports.run(file)


async def test_a_template_with_spaces_is_a_scope_of_its_clients(imports: Imports) -> None:
    """A file without its version is migrated as little as possible; templates always are."""
    file = {
        "realm": "templates",
        **ELLIPTIC,
        "clientTemplates": [{"name": "my plant template", "protocol": "openid-connect"}],
        "clients": [{"clientId": "line", "clientTemplate": "my plant template"}],
    }
    for version in (None, "3.4.3.Final", "2.5.5.Final"):
        realm = f"templates-{version}"
        document = {**file, "realm": realm, "id": realm, "keycloakVersion": version}
        await imports.run(document)
        line = await imports.client("line", realm)
        assert "my_plant_template" in line.default_client_scopes
