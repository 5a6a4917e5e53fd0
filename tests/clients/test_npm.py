"""Consoles written with @keycloak/keycloak-admin-client, from npm, do the same here.

Each script in tests/clients/npm uses the client in one area and prints what it found.
"""

import json
import subprocess
from typing import Any

from tests.support.administered_server import ROOT, AdministeredServer
from tests.support.wire import PASSWORD, SECRET

SCRIPTS = ROOT / "tests/clients/npm"
NODE = ROOT / ".venv-clients/bin/node"
_PATIENCE = 60


def _run(script: str, server: AdministeredServer, realm: str) -> dict[str, Any]:
    assert NODE.exists(), "node is not installed: scripts/test installs it"
    done = subprocess.run(
        [NODE, SCRIPTS / f"{script}.mjs"],
        cwd=SCRIPTS,
        env={
            "PATH": "/usr/bin:/bin",
            "SERVER_URL": server.url,
            "PASSWORD": server.password,
            "REALM": realm,
            "PASSWORD_OF_USERS": PASSWORD,
            "SECRET": SECRET,
            **server.environment(),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_client_signs_in_by_password_secret_and_refresh(
    administered: AdministeredServer, own_realm: str
) -> None:
    found = _run("signing_in", administered, own_realm)
    assert found.pop("refused") in {400, 401}
    assert found == {
        "operator": own_realm,
        "refreshed": own_realm,
        "withoutToken": [401, "HTTP 401 Unauthorized"],
        "whoAmI": {
            "realm": own_realm,
            "displayName": "Ada Lovelace",
            "locale": "en",
            "temporary": False,
            "createRealm": False,
            "realm_access": {own_realm: ["view-realm"]},
        },
    }


def test_realms_and_what_belongs_to_them_are_managed(
    administered: AdministeredServer, own_realm: str
) -> None:
    found = _run("realms", administered, own_realm)
    imported = found.pop("imported")
    assert {name: imported[name] for name in ("added", "skipped", "overwritten")} == {
        "added": 1,
        "skipped": 1,
        "overwritten": 0,
    }
    assert {"systemInfo", "themes", "providers", "componentTypes"} <= set(found.pop("server"))
    assert found == {
        "created": {"realmName": f"{own_realm}-made"},
        "conflict": [409, f"Realm {own_realm}-made already exists"],
        "listed": True,
        "displayName": "Changed",
        "gone": None,
        "exported": [["staff"], True],
        "defaultGroups": ["/newcomers"],
        "byPath": True,
        "noDefaultGroups": [],
        "keys": True,
        "locales": ["de"],
        "texts": {"hello": "Guten Tag, ä"},
        "noTexts": {},
    }


def test_events_lockouts_and_sessions_are_watched(
    administered: AdministeredServer, own_realm: str
) -> None:
    found = _run("events", administered, own_realm)
    assert found.pop("wrong") in {400, 401}
    assert found == {
        "config": [True, ["LOGIN", "LOGIN_ERROR"]],
        "events": ["LOGIN_ERROR", "LOGIN"],
        "errors": [["LOGIN_ERROR", "invalid_user_credentials"]],
        "adminEvent": ["USER", True],
        "cleared": [],
        "adminCleared": [],
        "locked": [True, 2],
        "unlocked": False,
        "sessions": ["ada", 2],
        "ofClient": 2,
        "count": {"count": 2},
        "statistics": ["app"],
        "oneLess": 1,
        "loggedOut": [],
        "allLoggedOut": [],
    }


def test_users_their_credentials_roles_and_groups_are_managed(
    administered: AdministeredServer, own_realm: str
) -> None:
    assert _run("users", administered, own_realm) == {
        "conflict": [409, "User exists with same username"],
        "found": ["grace"],
        "byAttribute": ["grace"],
        "count": 1,
        "user": ["Admiral", True, {"department": ["compilers"]}, True],
        "unmanaged": {"department": ["compilers"]},
        "nobody": None,
        "signedIn": True,
        "credentials": [["password", "of the office"]],
        "noCredentials": [],
        "realmRoles": True,
        "composite": True,
        "available": ["offline_access", "uma_authorization", "writer"],
        "noRealmRoles": False,
        "clientRoles": ["buy"],
        "availableClientRoles": ["lend", "sell"],
        "mappings": ["shop"],
        "noClientRoles": [],
        "groups": [["/staff"], {"count": 1}],
        "noGroups": [],
        "profile": True,
        "metadata": True,
        "gone": None,
    }


def test_groups_and_roles_are_managed(administered: AdministeredServer, own_realm: str) -> None:
    assert _run("groups_and_roles", administered, own_realm) == {
        "conflict": [409, "Top level group named 'crew' already exists."],
        "group": ["/crew", {"deck": ["1"]}, 1],
        "searched": [["crew", ["watch"]]],
        "children": ["watch"],
        "count": {"count": 1},
        "renamed": "/crew/night watch",
        "members": ["ada"],
        "realmRoles": ["reader"],
        "available": [
            f"default-roles-{own_realm}",
            "offline_access",
            "uma_authorization",
            "writer",
        ],
        "noRealmRoles": [],
        "clientRoles": ["buy"],
        "noClientRoles": [],
        "gone": None,
        "created": {"roleName": "editor"},
        "role": [{"level": ["1"]}, False],
        "byId": "Edits",
        "composites": ["buy", "reader"],
        "ofRealm": ["reader"],
        "ofClient": ["buy"],
        "noComposites": [],
        "users": ["ada"],
        "listed": ["editor"],
        "noRole": None,
    }


def test_clients_and_what_belongs_to_them_are_managed(
    administered: AdministeredServer, own_realm: str
) -> None:
    assert _run("clients", administered, own_realm) == {
        "conflict": [409, "Client made already exists"],
        "found": ["made"],
        "searched": ["made"],
        "client": ["Changed", ["https://app.test/*"], True],
        "nowhere": None,
        "secret": ["secret", True],
        "sameSecret": True,
        "registration": True,
        "account": "service-account-made",
        "roleName": "audit",
        "role": "Audits",
        "roles": ["audit"],
        "users": [],
        "noRole": None,
        "defaultScope": True,
        "optionalScope": True,
        "mappers": ["one", "three", "two"],
        "byProtocol": True,
        "mapper": "changed",
        "fewerMappers": True,
        "scopeMappings": [["buy"], ["reader"]],
        "allScopeMappings": [["reader"], ["shop"]],
        "availableScopeMappings": ["lend", "sell"],
        "evaluated": ["ada", "changed", "made"],
        "userinfo": ["ada@example.test", "changed"],
        "evaluatedMappers": True,
        "granted": ["reader"],
        "noScopeMappings": [[], []],
        "installation": "made",
        "generated": True,
        "key": True,
        "sessions": [[], {"count": 0}, {"count": 0}],
        "gone": None,
    }


def test_client_scopes_and_policies_are_managed(
    administered: AdministeredServer, own_realm: str
) -> None:
    assert _run("client_scopes", administered, own_realm) == {
        "conflict": [409, "Client Scope made already exists"],
        "scope": "Changed",
        "mapper": "false",
        "noMappers": [],
        "realmMappings": ["reader"],
        "composite": ["reader"],
        "noRealmMappings": [],
        "optional": True,
        "standard": True,
        "gone": None,
        "profiles": True,
        "policies": True,
    }


def test_flows_required_actions_and_components_are_managed(
    administered: AdministeredServer, own_realm: str
) -> None:
    assert _run("authentication", administered, own_realm) == {
        "flow": [False, True, "basic-flow"],
        "sameFlow": "made",
        "executions": ["REQUIRED", "REQUIRED", "DISABLED"],
        "noFlow": False,
        "providers": True,
        "clientProviders": ["client-secret", "client-x509"],
        "action": True,
        "unregistered": "Update Password",
        "registered": True,
        "components": True,
        "priority": ["51"],
        "signs": True,
        "gone": None,
    }
