"""Realm files of Keycloak, by every way in: each gives the same realm, and twice the same as once.

Keycloak: realm import (26.7), of files of versions 4 to 26.7
"""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.administration import Administration
from tests.support.made_realms import DONE, OK
from tests.support.realm_file_imports import (
    FOLDER,
    VARIABLES,
    WAYS,
    WITHOUT_PLACEHOLDERS,
    comparable,
    import_files,
    realm_of,
    renamed,
    run_command,
    shown,
)
from tests.support.recorded_changes import recorded_changes

SHOP = VARIABLES["SHOP_URL"]


@pytest.fixture
def realms(administration: Administration) -> Iterator[Administration]:
    """Remove the realms of the test afterwards."""
    before = {each["realm"] for each in administration.ask("GET", "").json()}
    yield administration
    for each in administration.ask("GET", "").json():
        if each["realm"] not in before:
            assert administration.ask("DELETE", quote(each["realm"])).status_code == DONE


def test_every_way_in_gives_the_same_realm_however_often(realms: Administration) -> None:
    found: dict[str, list[object]] = {name: [] for name in WITHOUT_PLACEHOLDERS}
    for way, import_by in WAYS.items():
        names = {name: f"{realm_of(name)}-{way}" for name in WITHOUT_PLACEHOLDERS}
        texts = [renamed(name, realm) for name, realm in names.items()]
        import_by(realms, texts)
        once = {name: shown(realms, realm) for name, realm in names.items()}
        for again in ("import", "apply"):
            output = import_files(realms, texts, again)
        assert output.count("in sync") == len(texts), output
        assert {name: shown(realms, realm) for name, realm in names.items()} == once, way
        for name, realm in names.items():
            found[name].append(comparable(once[name], realm))
    for name, by_way in found.items():
        assert by_way[1:] == by_way[:-1], name


def _tokens(administration: Administration, realm: str, user: str, password: str) -> str:
    form = {"grant_type": "password", "username": user, "password": password, "scope": "openid"}
    client = {"older": "shop", "oldhash": "cli"}[realm]
    answer = administration.http.post(
        f"/realms/{realm}/protocol/openid-connect/token", data=form | {"client_id": client}
    )
    assert answer.status_code == OK, answer.text
    return str(answer.json()["access_token"])


def test_an_old_file_imported_twice_keeps_the_subject(realms: Administration) -> None:
    for _ in range(2):
        run_command(realms, renamed("second-import-undoes-migration", "older"), "import")
        token = _tokens(realms, "older", "anna", "pw-anna-1")
        info = realms.http.get(
            "/realms/older/protocol/openid-connect/userinfo",
            headers={"Authorization": f"Bearer {token}"},
        )
        assert info.status_code == OK
        assert info.json()["sub"]
    assert "in sync" in run_command(
        realms, renamed("second-import-undoes-migration", "older"), "plan"
    )


def test_a_migration_leaves_objects_of_the_realm_alone(realms: Administration) -> None:
    text = renamed("second-import-undoes-migration", "older")
    import_files(realms, [text], "import")
    scopes = realms.ask("GET", "older/client-scopes").json()
    (basic,) = (each for each in scopes if each["name"] == "basic")
    changed = {**basic, "description": "ours"}
    assert realms.ask("PUT", f"older/client-scopes/{basic['id']}", document=changed).is_success
    profile = realms.ask("GET", "older/users/profile").json()
    assert profile["unmanagedAttributePolicy"] == "ENABLED"
    profile.pop("unmanagedAttributePolicy")
    assert realms.ask("PUT", "older/users/profile", document=profile).is_success
    import_files(realms, [text], "import")
    scopes = realms.ask("GET", "older/client-scopes").json()
    assert [each["description"] for each in scopes if each["name"] == "basic"] == ["ours"]
    assert "unmanagedAttributePolicy" not in realms.ask("GET", "older/users/profile").json()


def test_the_last_of_a_repeated_member_counts_everywhere(realms: Administration) -> None:
    text = '{"realm": "%s", "users": [{"username": "a", "email": "x", "email": "a@b.test"}], %s}'
    large = f'"attributes": {{"long": "{"x" * 70_000}"}}, "enabled": false, "enabled": true'
    for size, rest in (("small", '"enabled": false, "enabled": true'), ("large", large)):
        for way, import_by in WAYS.items():
            realm = f"repeated-{size}-{way}"
            import_by(realms, [text % (realm, rest)])
            assert realms.ask("GET", realm).json()["enabled"] is True
            (user,) = realms.ask("GET", f"{realm}/users").json()
            assert user["email"] == "a@b.test"
    sent = b'{"clients": [], "clients": [{"clientId": "twice"}], "ifResourceExists": "SKIP"}'
    answer = realms.ask("POST", "repeated-small-post/partialImport", content=sent)
    assert [each["resourceName"] for each in answer.json()["results"]] == ["twice"]
    refused = realms.ask("PUT", "repeated-small-post", content=b'{"enabled":1,"enabled":0}')
    assert refused.status_code == 400


def test_old_password_hashes_and_actions_of_users_count(realms: Administration) -> None:
    for way, import_by in WAYS.items():
        realm = f"oldhash-{way}"
        import_by(realms, [renamed("legacy-password-hash", realm)])
        form = {"grant_type": "password", "client_id": "cli", "username": "alice"}
        for password, status in (("secret-1", OK), ("secret-2", 400)):
            answer = realms.http.post(
                f"/realms/{realm}/protocol/openid-connect/token",
                data={**form, "password": password},
            )
            assert answer.status_code == status, (way, answer.text)


def test_default_roles_of_old_files_are_part_of_the_default_role(realms: Administration) -> None:
    for way, import_by in WAYS.items():
        realm = f"defroles-{way}"
        import_by(realms, [renamed("default-roles", realm)])
        path = f"{realm}/roles/default-roles-{realm}/composites"
        roles = {each["name"] for each in realms.ask("GET", path).json()}
        assert roles >= {"customer", "buyer", "offline_access", "uma_authorization"}, way


def test_the_action_of_terms_has_its_present_name(realms: Administration) -> None:
    for way, import_by in WAYS.items():
        realm = f"terms-{way}"
        import_by(realms, [renamed("terms-and-conditions", realm)])
        actions = realms.ask("GET", f"{realm}/authentication/required-actions").json()
        (terms,) = (each for each in actions if each["alias"] == "TERMS_AND_CONDITIONS")
        assert (terms["enabled"], terms["defaultAction"]) == (True, True), way


def test_an_optional_execution_is_required_of_users_who_have_it(realms: Administration) -> None:
    optional = {"authenticator": "auth-otp-form", "requirement": "OPTIONAL", "priority": 20}
    password = {"authenticator": "auth-password-form", "requirement": "REQUIRED", "priority": 10}
    flow = {"alias": "own", "topLevel": True, "authenticationExecutions": [password, optional]}
    document = {"realm": "optional", "authenticationFlows": [flow]}
    for _ in range(2):
        import_files(realms, [json.dumps(document)], "import")
        steps = realms.ask("GET", "optional/authentication/flows/own/executions").json()
        assert [(each["displayName"], each["requirement"], each["level"]) for each in steps] == [
            ("Password Form", "REQUIRED", 0),
            ("own - auth-otp-form - Conditional", "CONDITIONAL", 0),
            ("Condition - user configured", "REQUIRED", 1),
            ("OTP Form", "REQUIRED", 1),
        ]


def test_roles_that_nothing_defines_are_created(realms: Administration) -> None:
    named = {
        "realmRoles": ["of-user", "both"],
        "clientRoles": {"app": ["topic:consumer"]},
    }
    document = {
        "realm": "ghosts",
        "clients": [{"clientId": "app"}],
        "groups": [{"name": "g", "realmRoles": ["both", "of-group"]}],
        "users": [{"username": "anna", "groups": ["g"], **named}],
        "scopeMappings": [{"client": "app", "roles": ["of-scope"]}],
    }
    import_files(realms, [json.dumps(document)], "apply")
    roles = {each["name"] for each in realms.ask("GET", "ghosts/roles").json()}
    assert roles >= {"of-user", "both", "of-group", "of-scope"}
    (user,) = realms.ask("GET", "ghosts/users").json()
    held = realms.ask("GET", f"ghosts/users/{user['id']}/role-mappings").json()
    assert {each["name"] for each in held["realmMappings"]} >= {"of-user", "both"}
    assert [each["name"] for each in held["clientMappings"]["app"]["mappings"]] == [
        "topic:consumer"
    ]


def test_authorization_services_have_a_service_account(realms: Administration) -> None:
    for way, import_by in WAYS.items():
        realm = f"uma-{way}"
        import_by(realms, [renamed("authorization-settings", realm)])
        (client,) = realms.ask("GET", f"{realm}/clients?clientId=api").json()
        path = f"{realm}/clients/{client['id']}/service-account-user"
        user = realms.ask("GET", path).json()
        held = realms.ask("GET", f"{realm}/users/{user['id']}/role-mappings").json()
        assert [each["name"] for each in held["clientMappings"]["api"]["mappings"]] == [
            "uma_protection"
        ], way


@pytest.mark.parametrize("name", ["placeholders", "placeholders-silent"])
def test_placeholders_are_replaced_by_variables(realms: Administration, name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text()
    for command in ("import", "apply", "plan"):
        run_command(realms, text, command, variables=VARIABLES)
    realm = realm_of(name)
    clients = {each["clientId"]: each for each in realms.ask("GET", f"{realm}/clients").json()}
    (with_address,) = (each for each in clients.values() if each.get("rootUrl") == SHOP)
    assert with_address["redirectUris"] == [f"{SHOP}/*"]
    assert clients["svc"]["secret"] == "changeme"
    assert clients["account"]["name"] == "${client_account}"
    run_command(realms, text, "import", variables={**VARIABLES, "SVC_SECRET": "another"})
    path = f"{realm}/clients/{clients['svc']['id']}/client-secret"
    assert realms.ask("GET", path).json()["value"] == "another"


@pytest.mark.parametrize("name", ["placeholders", "placeholders-silent"])
def test_a_variable_that_is_not_set_is_named(realms: Administration, name: str) -> None:
    for command in ("import", "apply", "plan"):
        output = run_command(realms, (FOLDER / f"{name}.json").read_text(), command, status=2)
        assert "the environment variable SHOP_URL is not set" in output
        assert "SVC_SECRET" not in output


def test_the_admin_api_replaces_no_placeholders(realms: Administration) -> None:
    document = {"realm": "literal", "displayName": "${PATH}", "clients": [{"clientId": "a"}]}
    assert realms.ask("POST", "", document=document).is_success
    assert realms.ask("GET", "literal").json()["displayName"] == "${PATH}"


PARTIAL = FOLDER.glob("partial-*.json")


def test_parts_of_exports_are_imported(realms: Administration) -> None:
    assert realms.ask("POST", "", document={"realm": "parts-of"}).is_success
    for file in PARTIAL:
        for _ in range(2):
            answer = realms.ask("POST", "parts-of/partialImport", content=file.read_bytes())
            assert answer.status_code == OK, (file.name, answer.text)
    (client,) = realms.ask("GET", "parts-of/clients?clientId=az").json()
    user = realms.ask("GET", f"parts-of/clients/{client['id']}/service-account-user").json()
    held = realms.ask("GET", f"parts-of/users/{user['id']}/role-mappings").json()
    assert [each["name"] for each in held["clientMappings"]["az"]["mappings"]] == ["uma_protection"]


PROFILE = {"attributes": [{"name": name} for name in ("username", "email", "lastName")]}
ANY_NAMES = {
    "org.keycloak.userprofile.UserProfileProvider": [
        {
            "providerId": "declarative-user-profile",
            "config": {"kc.user.profile.config": [json.dumps(PROFILE)]},
        }
    ]
}
"""A user profile without rules."""


def test_names_may_have_spaces_inside(realms: Administration) -> None:
    password = [{"type": "password", "value": "pw-anna-1"}]
    person = {"lastName": "M", "email": "anna"}
    for way, import_by in WAYS.items():
        realm = f"Plant 7 {way}"
        client = {"id": f"in ternal {way}", "clientId": "a shop", "publicClient": True}
        grants = {"directAccessGrantsEnabled": True, "redirectUris": ["https://shop.example/*"]}
        user = {"username": "Anna Maria", "enabled": True, "credentials": password, **person}
        document = {
            "realm": realm,
            "id": f"id of {way}",
            "enabled": True,
            "sslRequired": "none",
            "clients": [client | grants],
            "users": [user],
            "components": ANY_NAMES,
        }
        import_by(realms, [json.dumps(document)])
        assert realms.ask("GET", quote(realm)).json()["id"] == f"id of {way}"
        path = f"/realms/{quote(realm)}"
        issuer = realms.http.get(f"{path}/.well-known/openid-configuration").json()["issuer"]
        assert issuer.endswith(path)
        form = {"grant_type": "password", "client_id": "a shop", "username": "anna maria"}
        token = realms.http.post(
            f"{path}/protocol/openid-connect/token", data={**form, "password": "pw-anna-1"}
        )
        assert token.status_code == OK, (way, token.text)
        sign_in = realms.http.get(
            f"{path}/protocol/openid-connect/auth",
            params={"client_id": "a shop", "response_type": "code", "redirect_uri": f"{SHOP}/"},
        )
        assert sign_in.status_code == OK
        assert all(f"Path={path}/" in each for each in sign_in.headers.get_list("set-cookie"))
        assert quote(realm) in sign_in.text


@pytest.mark.parametrize("name", [" a", "a ", " ", "a/b", "a\u00a0", "a\tb"])
def test_names_of_realms_that_urls_change_are_refused(realms: Administration, name: str) -> None:
    answer = realms.ask("POST", "", document={"realm": name})
    assert answer.status_code == 400, answer.text
    assert "realm" in answer.text


def test_errors_name_the_member_the_value_and_the_line(realms: Administration) -> None:
    text = """{
      "realm": "lined",
      "clients": [
        {"clientId": "a", "attributes": {"x": "{[\\"]}"}},
        {"clientId": "b",
          "notBefore": -1}
      ],
      "accessTokenLifespan": "1.5"
    }"""
    file = realms.gateway.state_dir / "imported.json"
    for command in ("import", "apply", "plan"):
        output = run_command(realms, text, command, status=2)
        assert f"{file}, line 6: clients[1].notBefore: -1 given" in output
        assert f'{file}, line 8: accessTokenLifespan: "1.5" given' in output
        in_list = run_command(realms, f"[{text}]", command, status=2)
        assert f"{file}, line 6: [0].clients[1].notBefore: -1 given" in in_list


def _named(report: dict[str, Any], kind: str) -> dict[str, tuple[int, list[str]]]:
    return {each["member"]: (each["count"], each["names"]) for each in report[kind]}


LDAP = {"name": "ldap", "providerId": "ldap", "config": {"vendor": ["other"]}}
SCRIPT = {"name": "js", "protocol": "openid-connect", "protocolMapper": "script-x.js", "config": {}}
MANY_LOSSES: dict[str, Any] = {
    "organizationsEnabled": True,
    "loginTheme": "of-our-own",
    "eventsListeners": ["jboss-logging", "kafka"],
    "smtpServer": {"host": "mail.test", "from": "a@b.test", "password": "**********"},
    "identityProviders": [{"alias": "google"}, {"alias": "github"}],
    "components": {
        "org.keycloak.storage.UserStorageProvider": [LDAP],
        "org.keycloak.keys.KeyProvider": [{"name": "rsa", "providerId": "rsa-generated"}],
        "com.example.Widget": [{"name": "one"}, {"name": "two"}],
    },
    "requiredActions": [{"alias": "SMS", "providerId": "sms"}],
    "clients": [
        {"clientId": "api", "secret": "**********", "authorizationServicesEnabled": True},
        {"clientId": "sp", "protocol": "saml"},
        {"clientId": "web", "publicClient": True, "protocolMappers": [SCRIPT]},
    ],
    "users": [
        {"username": "anna", "federatedIdentities": [{"identityProvider": "google"}]},
        {"username": "bob", "clientConsents": [{"clientId": "gone"}]},
        {"username": "carl", "credentials": [{"type": "password", "secretData": "**********"}]},
    ],
}
LOST = {
    "identityProviders": (2, ["google", "github"]),
    "user federations": (1, ["ldap"]),
    "components.com.example.Widget": (2, ["one", "two"]),
    "keys": (1, ["rsa"]),
    "requiredActions.SMS": (1, []),
    "users.federatedIdentities": (1, ["anna"]),
    "users.clientConsents": (1, ["bob"]),
    "clients.authorizationSettings": (1, ["api"]),
}
WITHOUT_EFFECT = {
    "realm": (1, ["organizationsEnabled"]),
    "clients of saml": (1, ["sp"]),
    "protocolMappers": (1, ["web/js"]),
    "loginTheme": (1, ["of-our-own"]),
    "eventsListeners": (1, ["kafka"]),
}
NEEDS_YOU = {
    "smtpServer": (1, ["password"]),
    "clients.secret": (1, ["api"]),
    "users": (2, ["anna", "bob"]),
    "users.credentials": (1, ["carl"]),
}


def test_nothing_is_lost_without_a_word(realms: Administration) -> None:
    for command, status in (("plan", 1), ("import", 0), ("apply", 0)):
        text = json.dumps({"realm": f"losses-{command}", **MANY_LOSSES})
        output = run_command(realms, text, command, "--output", "json", status=status)
        (one,) = json.loads(output[output.index("[") : output.rindex("]") + 1])
        assert _named(one["report"], "lost") == LOST, command
        assert _named(one["report"], "withoutEffect") == WITHOUT_EFFECT, command
        assert _named(one["report"], "needsYou") == NEEDS_YOU, command
    answer = realms.ask("POST", "", document={"realm": "losses-post", **MANY_LOSSES})
    assert answer.status_code == 201, answer.text
    report = json.loads(answer.headers["realmgate-import-report"])
    assert _named(report, "lost") == LOST
    assert _named(report, "needsYou") == NEEDS_YOU
    parts = {"identityProviders": [{"alias": "google"}], "users": [{"username": "dora"}]}
    answer = realms.ask("POST", "losses-post/partialImport", document=parts)
    assert [each["resourceName"] for each in answer.json()["results"]] == ["dora"]
    report = json.loads(answer.headers["realmgate-import-report"])
    assert _named(report, "lost") == {"identityProviders": (1, ["google"])}
    answer = realms.ask("POST", "losses-post/partialImport", document={"users": []})
    assert "realmgate-import-report" not in answer.headers


def test_unknown_members_and_repetitions_are_reported(realms: Administration) -> None:
    text = """{"realm": "typos", "accessTokenLifespann": 60, "enabled": false, "enabled": true,
        "clients": [{"clientId": "a", "rootUri": "x"}, {"clientId": "b", "rootUri": "x"}],
        "users": [{"username": "anna", "firstname": "A"}]}"""
    for command in ("import", "plan"):
        output = run_command(realms, text, command)
        assert "lost: repeated members (1: `enabled`)" in output
        assert "accessTokenLifespann: an unknown member" in output
        assert "did you mean accessTokenLifespan?" in output
        assert "did you mean rootUrl?" in output
        assert "did you mean firstName?" in output


def test_unknown_client_scopes_are_left_out_and_reported(realms: Administration) -> None:
    clients = [{"clientId": "a", "defaultClientScopes": ["email", "gone"]}]
    lists = {"defaultDefaultClientScopes": ["email", "lost"]}
    text = json.dumps({"realm": "scopes-lost", "clients": clients, **lists})
    for command in ("import", "plan"):
        output = run_command(realms, text, command)
        assert "lost: clients.defaultClientScopes (1: `a/gone`)" in output
        assert "lost: defaultDefaultClientScopes (1: `lost`)" in output


def test_clients_whose_tokens_have_no_subject_are_reported(realms: Administration) -> None:
    """A file without client scopes gets the built-in ones, so that no migration adds `basic`."""
    usual = ["web-origins", "acr", "roles", "profile", "email"]
    mapper = {"name": "sub", "protocol": "openid-connect", "protocolMapper": "oidc-sub-mapper"}
    clients = [
        {"clientId": "usual", "defaultClientScopes": usual},
        {"clientId": "on-request", "optionalClientScopes": ["basic"]},
        {"clientId": "empty", "defaultClientScopes": []},
        {"clientId": "defaults"},
        {"clientId": "with-basic", "defaultClientScopes": [*usual, "basic"]},
        {"clientId": "mapped", "defaultClientScopes": usual, "protocolMappers": [mapper]},
        {"clientId": "bearer", "bearerOnly": True, "defaultClientScopes": usual},
        {"clientId": "sp", "protocol": "saml", "defaultClientScopes": ["role_list"]},
    ]
    without = {"clients.defaultClientScopes": (3, ["usual", "on-request", "empty"])}
    file = {"realm": "subjects", "keycloakVersion": "24.0.5", "clients": clients}
    for command, status in (("plan", 1), ("import", 0)):
        output = run_command(realms, json.dumps(file), command, "--output", "json", status=status)
        (one,) = json.loads(output[output.index("[") : output.rindex("]") + 1])
        assert _named(one["report"], "needsYou") == without, command
    migrated = {**file, "realm": "subjects-migrated", "clientScopes": []}
    output = run_command(realms, json.dumps(migrated), "import")
    assert "no mapper adds `sub`" not in output


def test_a_strict_import_of_a_lossy_file_imports_nothing(realms: Administration) -> None:
    lossy = json.dumps({"realm": "strictly", "identityProviders": [{"alias": "google"}]})
    for command in ("import", "apply", "plan"):
        output = run_command(realms, lossy, command, "--strict", status=1)
        assert "lost: identityProviders (1: `google`)" in output
        assert realms.ask("GET", "strictly").status_code == 404
    run_command(realms, '{"realm": "strictly"}', "import", "--strict")
    assert run_command(realms, '{"realm": "strictly"}', "plan", "--strict")


def test_users_who_differ_are_named_or_updated(realms: Administration) -> None:
    hashed = [{"type": "password", "value": "pw-anna-1"}]
    anna = {"username": "anna", "enabled": True, "firstName": "A", "credentials": hashed}
    bob = {"username": "bob", "enabled": True}
    before = {"realm": "differing", "groups": [{"name": "g"}], "users": [anna, bob]}
    import_files(realms, [json.dumps(before)], "import")
    changed = {"firstName": "Anna", "realmRoles": ["boss"], "groups": ["/g"]}
    others = [{"type": "password", "value": "another-1"}]
    after = {**before, "users": [{**anna, **changed, "credentials": others}, bob]}
    text = json.dumps(after)
    assert "needs you: users (1: `anna`)" in run_command(realms, text, "import")
    (first,) = realms.ask("GET", "differing/users?username=anna").json()
    assert first["firstName"] == "A"
    assert "~ user anna" in run_command(realms, text, "plan", "--users", "update", status=1)
    assert "needs you" not in run_command(realms, text, "apply", "--users", "update")
    (found,) = realms.ask("GET", "differing/users?username=anna").json()
    assert (found["id"], found["firstName"]) == (first["id"], "Anna")
    path = f"differing/users/{found['id']}"
    roles = realms.ask("GET", f"{path}/role-mappings/realm").json()
    assert "boss" in {each["name"] for each in roles}
    assert [each["path"] for each in realms.ask("GET", f"{path}/groups").json()] == ["/g"]
    assert run_command(realms, text, "plan", "--users", "update") == "realm differing: in sync\n"


def test_consents_of_users_are_imported(realms: Administration) -> None:
    for way, import_by in WAYS.items():
        realm = f"cons-{way}"
        import_by(realms, [renamed("consents-of-users", realm)])
        (user,) = realms.ask("GET", f"{realm}/users?username=anna").json()
        (consent,) = realms.ask("GET", f"{realm}/users/{user['id']}/consents").json()
        assert consent["clientId"] == "shop"
        assert consent["grantedClientScopes"] == ["profile", "email"], way


def test_a_replaced_client_keeps_its_service_account(realms: Administration) -> None:
    client = {"clientId": "svc", "secret": "a-secret", "serviceAccountsEnabled": True}
    account = {
        "username": "service-account-svc",
        "serviceAccountClientId": "svc",
        "realmRoles": ["boss"],
        "clientRoles": {"svc": ["own"]},
        "groups": ["staff"],
    }
    document = {
        "realm": "replaced",
        "clients": [client],
        "users": [account],
        "groups": [{"name": "staff"}],
        "roles": {"client": {"svc": [{"name": "own"}]}},
    }
    assert realms.ask("POST", "", document=document).is_success
    for more in ({}, {"roles": document["roles"]}):
        parts = {"ifResourceExists": "OVERWRITE", "clients": [{**client, "name": "new"}], **more}
        answer = realms.ask("POST", "replaced/partialImport", document=parts)
        assert answer.status_code == OK, answer.text
        (found,) = realms.ask("GET", "replaced/clients?clientId=svc").json()
        path = f"replaced/clients/{found['id']}/service-account-user"
        user = f"replaced/users/{realms.ask('GET', path).json()['id']}"
        roles = realms.ask("GET", f"{user}/role-mappings/realm").json()
        assert "boss" in {each["name"] for each in roles}
        assert [each["path"] for each in realms.ask("GET", f"{user}/groups").json()] == ["/staff"]


def test_an_export_overwrites_its_own_realm(realms: Administration) -> None:
    import_files(realms, [renamed("second-import-undoes-migration", "older")], "import")
    whole = "partial-export?exportClients=true&exportGroupsAndRoles=true"
    export = realms.ask("POST", f"older/{whole}").json()
    before = comparable(shown(realms, "older"), "older")
    answer = realms.ask(
        "POST", "older/partialImport", document={**export, "ifResourceExists": "OVERWRITE"}
    )
    assert answer.status_code == OK, answer.text
    assert comparable(shown(realms, "older"), "older") == before


@pytest.fixture
def earlier_names(realms: Administration) -> dict[str, Any]:
    """Make a realm of users named as before `registrationEmailAsUsername`; return its file."""
    bob = {"username": "bob", "email": "bob@x.test", "enabled": True}
    users = [bob, {"username": "eve", "enabled": True}]
    document: dict[str, Any] = {"realm": "renamed", "users": users}
    import_files(realms, [json.dumps(document)], "import")
    by_address = {"registrationEmailAsUsername": True}
    assert realms.ask("PUT", "renamed", document=by_address).status_code == DONE
    with_address = {**users[1], "email": "eve@x.test"}
    return {**document, **by_address, "users": [bob, with_address]}


def _ids_of_users(realms: Administration) -> dict[str, str]:
    return {each["id"]: each["username"] for each in realms.ask("GET", "renamed/users").json()}


def test_users_named_before_the_address_are_known(
    realms: Administration, earlier_names: dict[str, Any]
) -> None:
    before = _ids_of_users(realms)
    (bob, eve), text = earlier_names["users"], json.dumps(earlier_names)
    assert "0 users added" in run_command(realms, text, "import")
    assert _ids_of_users(realms).keys() == before.keys()
    in_sync = {**earlier_names, "users": [bob]}
    update = ("--users", "update")
    assert "in sync" in run_command(realms, json.dumps(in_sync), "plan", *update)
    named = {**earlier_names, "users": [{**bob, "firstName": "Bob"}, eve]}
    run_command(realms, json.dumps(named), "apply", *update)
    assert _ids_of_users(realms).keys() == before.keys()
    assert sorted(_ids_of_users(realms).values()) == ["bob@x.test", "eve@x.test"]
    assert "in sync" in run_command(realms, json.dumps(named), "plan", *update)


def test_partial_imports_know_users_named_before_the_address(
    realms: Administration, earlier_names: dict[str, Any]
) -> None:
    before = _ids_of_users(realms)
    for policy, action in (("SKIP", "SKIPPED"), ("OVERWRITE", "OVERWRITTEN")):
        parts = {"ifResourceExists": policy, "users": earlier_names["users"]}
        answer = realms.ask("POST", "renamed/partialImport", document=parts)
        assert answer.status_code == OK, answer.text
        assert {each["action"] for each in answer.json()["results"]} == {action}
        assert len(_ids_of_users(realms)) == len(before)


def test_users_named_by_the_address_do_not_differ(realms: Administration) -> None:
    bob = {"username": "bob", "email": "bob@x.test", "enabled": True}
    document = {"realm": "addressed", "registrationEmailAsUsername": True, "users": [bob]}
    text, update = json.dumps(document), ("--users", "update")
    assert "needs you" not in run_command(realms, text, "import")
    assert "needs you" not in run_command(realms, text, "import")
    assert "in sync" in run_command(realms, text, "plan", *update)
    text = json.dumps({**document, "users": [{**bob, "firstName": "Bob"}]})
    run_command(realms, text, "apply", *update)
    assert "in sync" in run_command(realms, text, "plan", *update)
    assert realms.ask("GET", "addressed/users?username=bob&exact=true").json() == []


def test_old_forms_of_a_wrong_type_are_refused_by_every_way(realms: Administration) -> None:
    hashed = {"type": "password", "hashedSaltedValue": "aGFzaA==", "salt": "c2FsdA=="}
    credentials: tuple[dict[str, Any], ...] = (
        {**hashed, "type": []},
        {**hashed, "hashIterations": "9" * 5000},
    )
    for credential in credentials:
        user = {"username": "anna", "enabled": True, "credentials": [credential]}
        document = {"realm": "mistyped", "users": [user]}
        for path, sent in (("", document), ("master/partialImport", {"users": [user]})):
            answer = realms.ask("POST", path, document=sent)
            assert answer.status_code == 400, (path, answer.text)
        for command in ("import", "apply", "plan"):
            output = run_command(realms, json.dumps(document), command, status=2)
            assert "users[0].credentials[0]" in output


def test_secrets_and_names_of_a_wrong_type_are_refused(realms: Administration) -> None:
    client = {"clientId": "app", "secret": "a-secret", "attributes": {"a": "b"}}
    document: dict[str, Any] = {"realm": "mistyped", "clients": [client]}
    import_files(realms, [json.dumps(document)], "import")
    secrets: tuple[Any, ...] = ([], {}, ["a"])
    for wrong in secrets:
        clients = [{**client, "secret": wrong}]
        text = json.dumps({**document, "clients": clients})
        for command in ("import", "apply", "plan"):
            assert "secret" in run_command(realms, text, command, status=2)
        parts = {"ifResourceExists": "OVERWRITE", "clients": clients}
        answer = realms.ask("POST", "mistyped/partialImport", document=parts)
        assert answer.status_code == 400, answer.text


def _shown_roles(realms: Administration, realm: str, client: str) -> set[str]:
    (found,) = realms.ask("GET", f"{realm}/clients?clientId={client}").json()
    return {
        each["name"] for each in realms.ask("GET", f"{realm}/clients/{found['id']}/roles").json()
    }


def test_roles_named_by_skipped_parts_are_not_created(realms: Administration) -> None:
    client = {"clientId": "svc", "secret": "a-secret", "serviceAccountsEnabled": True}
    user, group = {"username": "anna", "enabled": True}, {"name": "staff"}
    document = {"realm": "skipping", "clients": [client], "users": [user], "groups": [group]}
    assert realms.ask("POST", "", document=document).is_success
    names = {"realmRoles": ["named"], "clientRoles": {"svc": ["named"]}}
    parts = {
        "ifResourceExists": "SKIP",
        "clients": [{**client, "authorizationServicesEnabled": True}],
        "users": [{**user, **names}],
        "groups": [{**group, **names}],
    }
    answer = realms.ask("POST", "skipping/partialImport", document=parts)
    assert {each["action"] for each in answer.json()["results"]} == {"SKIPPED"}
    assert realms.ask("GET", "skipping/roles/named").status_code == 404
    assert _shown_roles(realms, "skipping", "svc") == set()


def test_roles_created_by_name_are_outcomes_and_events(realms: Administration) -> None:
    client = {"clientId": "svc", "secret": "a-secret", "serviceAccountsEnabled": True}
    assert realms.ask("POST", "", document={"realm": "naming"}).is_success
    details = {"adminEventsEnabled": True, "adminEventsDetailsEnabled": True}
    assert realms.ask("PUT", "naming", document=details).status_code == DONE
    before = len(recorded_changes(realms, "naming"))
    names = {"realmRoles": ["by-user"], "clientRoles": {"svc": ["own"]}}
    parts = {
        "clients": [{**client, "authorizationServicesEnabled": True}],
        "users": [{"username": "anna", "enabled": True, **names}],
        "groups": [{"name": "staff", "realmRoles": ["by-group"]}],
    }
    results = realms.ask("POST", "naming/partialImport", document=parts).json()["results"]
    assert [(each["action"], each["resourceName"]) for each in results] == [
        ("ADDED", name)
        for name in (
            *("svc", "svc-->uma_protection", "by-group", "by-user", "svc-->own", "staff", "anna"),
        )
    ]
    assert len(recorded_changes(realms, "naming")) == before + len(results)
    (found,) = realms.ask("GET", "naming/clients?clientId=svc").json()
    account = realms.ask("GET", f"naming/clients/{found['id']}/service-account-user").json()
    path = f"naming/users/{account['id']}/role-mappings/clients/{found['id']}"
    assert [each["name"] for each in realms.ask("GET", path).json()] == ["uma_protection"]
