"""Settings of clients and realms work, are stored only, or are refused with the reason.

Each row of the table of effects is set through the real nginx. Source: docs/effects-of-settings.md
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from gateway.cli import main
from gateway.representations.field_table import snake_case
from gateway.representations.realms.fields import REALM_FIELDS
from gateway.representations.repeated_settings import LISTED_IF_GIVEN, MIRRORED, NEVER_LISTED
from scripts.setting_rows import SETTING_ROWS, Effect, Place, SettingRow
from tests.support.spec_stack import Stack
from tests.support.wire import SECRET, basic

REALM = "effects"
ADDRESS = "https://a.test/x"
ELLIPTIC = {"defaultSignatureAlgorithm": "ES384"}
"""Its keys are made quickly."""
BAD = httpx2.codes.BAD_REQUEST
FLOWS = ("browser", "registration", "resetCredentials", "dockerAuthentication", "firstBrokerLogin")
KEPT_FLOWS = {f"{name}Flow" for name in FLOWS}
NO_SETTINGS = {"id", "realm", "displayName", "displayNameHtml", "attributes"}
"""Fields that an attribute of their name may contradict: names, texts that are shown, the map."""


def example(row: SettingRow) -> str:
    """Return a name that the row covers."""
    return row.name.replace("*", "example")


def rows(place: Place, effect: Effect) -> list[SettingRow]:
    return [row for row in SETTING_ROWS if row.place is place and row.effect is effect]


def samples(place: Place, effect: Effect) -> dict[str, Any]:
    """Return a value of each setting; an address where Keycloak asks for one."""
    return {
        example(row): ADDRESS if _takes_address(row) else row.sample for row in rows(place, effect)
    }


def _takes_address(row: SettingRow) -> bool:
    return row.effect is not Effect.REFUSED and row.name.lower().endswith(("url", "uri"))


@dataclass(frozen=True, slots=True)
class Administered:
    """The admin API of the realm behind nginx."""

    stack: Stack
    token: str

    def ask(self, method: str, path: str = "", document: object = None) -> httpx2.Response:
        """Send a request below the realm; a path that begins with `/` stands alone."""
        url = path if path.startswith("/") else f"/admin/realms/{REALM}/{path}".rstrip("/")
        return self.stack.http.request(
            method,
            f"{self.stack.nginx.https}{url}",
            json=document,
            headers={"Authorization": f"Bearer {self.token}"},
        )

    def get(self, path: str = "") -> Any:
        """Return the document at a path."""
        response = self.ask("GET", path)
        assert response.status_code == httpx2.codes.OK, response.text
        return response.json()

    def done(self, method: str, path: str, document: object) -> str:
        """Do what must succeed; return the last segment of Location."""
        response = self.ask(method, path, document)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return str(response.headers.get("location", "")).rsplit("/", 1)[-1]

    def refusal(self, method: str, path: str, document: object) -> str:
        """Return the text of a 400."""
        response = self.ask(method, path, document)
        assert response.status_code == BAD, f"{document}: {response.status_code} {response.text}"
        return str(response.json()["errorMessage"])

    def client(self, **fields: Any) -> str:
        """Make a client; return its internal id."""
        return self.done("POST", "clients", {"secret": SECRET, **fields})


@pytest.fixture
def realm(spec: Stack) -> Iterator[Administered]:
    """Make a realm, and remove it."""
    administered = Administered(spec, spec.administrator())
    administered.done("POST", "/admin/realms", {"realm": REALM, "enabled": True, **ELLIPTIC})
    yield administered
    administered.done("DELETE", "", None)


def test_each_stored_attribute_of_a_client_comes_back_unchanged(realm: Administered) -> None:
    sent = samples(Place.CLIENT_ATTRIBUTE, Effect.STORED) | {"not.of.keycloak": "1"}
    dropped = samples(Place.CLIENT_ATTRIBUTE, Effect.NOT_STORED)
    made = realm.client(clientId="stored", attributes=sent | dropped)
    stored = realm.get(f"clients/{made}")
    assert sent.items() <= stored["attributes"].items()
    assert not dropped.keys() & stored["attributes"].keys()
    realm.done("PUT", f"clients/{made}", stored)
    assert realm.get(f"clients/{made}") == stored


STORED_FIELDS: Mapping[str, Any] = {
    "description": "d",
    "type": "t",
    "adminUrl": "https://a.test/admin",
    "surrogateAuthRequired": True,
    "authorizationServicesEnabled": True,
    "nodeReRegistrationTimeout": 9,
    "registeredNodes": {"node": 1},
}


def test_each_stored_field_of_a_client_comes_back_unchanged(realm: Administered) -> None:
    assert set(STORED_FIELDS) == samples(Place.CLIENT_FIELD, Effect.STORED).keys()
    made = realm.client(clientId="fields", serviceAccountsEnabled=True, **STORED_FIELDS)
    stored = realm.get(f"clients/{made}")
    assert {name: stored[name] for name in STORED_FIELDS} == STORED_FIELDS


def test_attributes_of_client_scopes_are_refused_or_come_back(realm: Administered) -> None:
    scope = {"name": "s", "protocol": "openid-connect"}
    for row in rows(Place.SCOPE_ATTRIBUTE, Effect.REFUSED):
        attributes = {example(row): row.sample}
        told = realm.refusal("POST", "client-scopes", {**scope, "attributes": attributes})
        assert row.note in told
    sent = samples(Place.SCOPE_ATTRIBUTE, Effect.STORED) | {"always.display.consent": "false"}
    made = realm.done("POST", "client-scopes", {**scope, "attributes": sent})
    stored = realm.get(f"client-scopes/{made}")
    assert stored["attributes"] == sent
    changed = {**stored, "attributes": {"always.display.consent": "true"}}
    assert "consent" in realm.refusal("PUT", f"client-scopes/{made}", changed)
    realm.done("PUT", f"client-scopes/{made}", stored)


def test_each_refused_realm_setting_is_refused_with_its_reason(realm: Administered) -> None:
    before = realm.get()
    for row in rows(Place.REALM_ATTRIBUTE, Effect.REFUSED):
        attributes = before["attributes"] | {example(row): row.sample}
        assert row.note in realm.refusal("PUT", "", {"attributes": attributes})
    for row in rows(Place.REALM_FIELD, Effect.REFUSED):
        assert row.name in realm.refusal("PUT", "", {row.name: row.sample})
        new = {"realm": "never", row.name: row.sample}
        assert row.name in realm.refusal("POST", "/admin/realms", new)
    attributes = {"always.display.consent": "true"}
    scope = {"name": "s", "protocol": "openid-connect", "attributes": attributes}
    told = realm.refusal("POST", "/admin/realms", {"realm": "never", "clientScopes": [scope]})
    assert told.startswith("clientScopes[s].attributes.always.display.consent: ")
    assert realm.ask("GET", "/admin/realms/never").status_code == httpx2.codes.NOT_FOUND
    assert realm.get() == before


def test_each_stored_attribute_of_a_realm_comes_back_unchanged(realm: Administered) -> None:
    sent = {
        name: value
        for name, value in samples(Place.REALM_ATTRIBUTE, Effect.STORED).items()
        if name not in MIRRORED
    } | {"frontendUrl": ""}
    realm.done("PUT", "", {"attributes": sent})
    stored = realm.get()
    assert sent.items() <= stored["attributes"].items()
    realm.done("PUT", "", stored)
    assert realm.get() == stored


def another(value: Any) -> Any:
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case list():
            return [*value, "x"]
        case _:
            return "x"


def test_each_stored_field_of_a_realm_comes_back_unchanged(realm: Administered) -> None:
    before = realm.get()
    names = samples(Place.REALM_FIELD, Effect.STORED).keys() - KEPT_FLOWS
    sent = {name: another(before.get(name)) for name in names}
    sent["smtpServer"] = {"host": "mail.test", "from": "a@mail.test"}
    sent["clientProfiles"] = {"profiles": [{"name": "p"}]}
    sent["requiredCredentials"] = ["otp"]
    sent["supportedLocales"] = ["de"]
    sent |= {"otpPolicyType": "hotp", "otpPolicyAlgorithm": "HmacSHA256", "otpPolicyDigits": 8}
    realm.done("PUT", "", sent)
    stored = realm.get()
    assert {name: stored.get(name) for name in sent} == sent


def test_an_attribute_that_is_also_a_field_changes_the_field(
    realm: Administered,
) -> None:
    assert {"bruteForceProtected", "clientSessionIdleTimeout"} <= MIRRORED.keys()
    before = realm.get()
    chosen = {"bruteForceStrategy": "LINEAR", "defaultSignatureAlgorithm": "ES256"}
    fields = {
        name: chosen.get(name, another(before[field]))
        for name, field in MIRRORED.items()
        if name != "adminPermissionsEnabled"
    }
    texts = {
        name: str(value).lower() if value in (True, False) else str(value)
        for name, value in fields.items()
    }
    realm.done("PUT", "", {"attributes": texts})
    after = realm.get()
    assert {name: after[MIRRORED[name]] for name in fields} == fields
    assert texts.items() <= after["attributes"].items()


def test_attributes_repeating_fields_of_old_exports_are_accepted(
    realm: Administered,
) -> None:
    headers = realm.get()["browserSecurityHeaders"]
    attributes = {f"_browser_header.{name}": value for name, value in headers.items()}
    attributes["client-policies.profiles"] = '{"profiles":[]}'
    attributes["client-policies.policies"] = '{"policies":[]}'
    realm.done("PUT", "", {"attributes": attributes})
    old = {"realm": "old-export", "enabled": True, "attributes": attributes, **ELLIPTIC}
    changed = {"browserSecurityHeaders": headers | {"xFrameOptions": "DENY"}}
    told = realm.refusal("POST", "/admin/realms", old | changed)
    assert told.startswith("attributes._browser_header.xFrameOptions: "), told
    realm.done("POST", "/admin/realms", old)
    realm.done("DELETE", "/admin/realms/old-export", None)
    empty = {"profiles": [{"name": "p", "executors": []}]}
    named = {"attributes": {"client-policies.profiles": json.dumps(empty)}}
    assert "clientProfiles" in realm.refusal("PUT", "", named)
    for text in ("[]", "{", "[" * 20_000):
        realm.refusal("PUT", "", {"attributes": {"client-policies.policies": text}})


def test_an_attribute_that_spells_a_field_of_a_realm_is_refused(realm: Administered) -> None:
    """Old versions of Keycloak name passkeys last; people write names in their own case."""
    before = realm.get()
    fields = [field.name for field in REALM_FIELDS if field.name not in NO_SETTINGS]
    passkeys = [name for name in fields if name.startswith("webAuthnPolicyPasswordless")]
    stored_by_keycloak = [f"{name.replace('Passwordless', '')}Passwordless" for name in passkeys]
    written = [*(name for name in fields if name not in MIRRORED), *stored_by_keycloak]
    others = [spell(name) for name in fields for spell in (snake_case, str.upper)]
    spellings = [name for name in (*written, *others) if name not in fields or name in written]
    for start in range(0, len(spellings), 40):
        sent = dict.fromkeys(spellings[start : start + 40], "another")
        told = realm.refusal("PUT", "", {"attributes": before["attributes"] | sent})
        assert [name for name in sent if f"attributes.{name[:40]}" not in told] == []
    told = realm.refusal("PUT", "", {"attributes": {"webAuthnPolicyRpId": "login.test"}})
    assert "it is read from the field of the realm" in told
    assert realm.get() == before


def test_an_attribute_that_repeats_a_field_follows_the_field(realm: Administered) -> None:
    repeated = {
        "webAuthnPolicyRpEntityName": "keycloak",
        "webAuthnPolicySignatureAlgorithms": "ES256,RS256",
        "webAuthnPolicyRpId": "",
        "webAuthnPolicyAttestationConveyancePreferencePasswordless": "not specified",
        "webAuthnPolicyCreateTimeoutPasswordless": "0",
        "webAuthnPolicyAvoidSameAuthenticatorRegister": "false",
        "registrationAllowed": "false",
    }
    attributes = realm.get()["attributes"] | repeated
    realm.done("PUT", "", {"attributes": attributes})
    sent = realm.get() | {"webAuthnPolicyRpId": "localhost", "registrationAllowed": True}
    realm.done("PUT", "", sent)
    after = realm.get()
    assert after["webAuthnPolicyRpId"] == "localhost"
    changed = {"webAuthnPolicyRpId": "localhost", "registrationAllowed": "true"}
    assert after["attributes"].items() >= (repeated | changed).items()
    realm.done("PUT", "", after)
    assert realm.get() == after


def policy(name: str, *, enabled: bool = True) -> dict[str, Any]:
    conditions = [{"condition": "any-client", "configuration": {}}]
    return {"name": name, "enabled": enabled, "conditions": conditions, "profiles": [name]}


def test_a_policy_with_a_demanding_unknown_executor_is_refused(
    realm: Administered,
) -> None:
    profiles, policies = "client-policies/profiles", "client-policies/policies"
    reason = "an executor that this version does not know would not judge"
    later = "of-a-later-version"
    names = (later, *samples(Place.EXECUTOR, Effect.STORED))
    together = [
        {"name": name, "executors": [{"executor": name, "configuration": {}}]} for name in names
    ]
    realm.done("PUT", profiles, {"profiles": together})
    told = realm.refusal("PUT", policies, {"policies": [policy(name) for name in names]})
    assert (
        f'the enabled policy "{later}" has no effect, the policy would not be applied: {reason}'
        in told
    )
    fine = [policy(name, enabled=name != later) for name in names]
    realm.done("PUT", profiles, {"profiles": [*together, {"name": "empty", "executors": []}]})
    realm.done("PUT", policies, {"policies": [*fine, policy("empty")]})
    for executor in (later, *samples(Place.EXECUTOR, Effect.REFUSED)):
        filled = {"name": "empty", "executors": [{"executor": executor}]}
        assert reason in realm.refusal("PUT", profiles, {"profiles": [*together, filled]})


@pytest.mark.parametrize("enabled", [True, False])
def test_a_policy_of_a_profile_that_does_not_exist_is_refused(
    realm: Administered, *, enabled: bool
) -> None:
    misspelled = policy("rotatoin", enabled=enabled)
    told = realm.refusal("PUT", "client-policies/policies", {"policies": [misspelled]})
    assert told == "Policy rotatoin contains invalid profile rotatoin"
    global_profile = policy("of-every-realm") | {"profiles": ["saml-security-profile"]}
    realm.done("PUT", "client-policies/policies", {"policies": [global_profile]})
    realm.done("PUT", "client-policies/policies", {"policies": []})


def test_secret_rotation_with_an_unknown_condition_is_refused(
    realm: Administered,
) -> None:
    rotation = {"name": "rotation", "executors": [{"executor": "secret-rotation"}]}
    realm.done("PUT", "client-policies/profiles", {"profiles": [rotation]})
    fine = policy("rotation")
    realm.done("PUT", "client-policies/policies", {"policies": [fine]})
    narrow = fine | {"conditions": [{"condition": "identity-provider-alias", "configuration": {}}]}
    told = realm.refusal("PUT", "client-policies/policies", {"policies": [narrow]})
    assert "its condition identity-provider-alias is not evaluated" in told
    realm.done("PUT", "client-policies/policies", {"policies": []})


def test_self_registration_refuses_settings_without_effect(
    realm: Administered,
) -> None:
    documents = [
        {"clientId": "d", "attributes": {example(row): row.sample}}
        for row in rows(Place.CLIENT_ATTRIBUTE, Effect.REFUSED)[:2]
    ]
    initial = realm.ask("POST", "clients-initial-access", {"count": len(documents)}).json()["token"]
    for document in documents:
        response = realm.stack.http.post(
            f"{realm.stack.nginx.https}/realms/{REALM}/clients-registrations/default",
            json=document,
            headers={"Authorization": f"Bearer {initial}"},
        )
        assert response.status_code == BAD, f"{document}: {response.text}"
        answer = response.json()
        assert answer["error"] == "invalid_client_metadata"
        assert "has no effect" in answer["error_description"]


def written_file(folder: Path) -> list[str]:
    """Write a realm document with every refused setting; return the settings' paths."""
    scope = samples(Place.SCOPE_ATTRIBUTE, Effect.REFUSED)
    attributes = samples(Place.REALM_ATTRIBUTE, Effect.REFUSED)
    fields = samples(Place.REALM_FIELD, Effect.REFUSED)
    document = {
        "realm": REALM,
        "attributes": attributes,
        **fields,
        "clientScopes": [{"name": "s", "protocol": "openid-connect", "attributes": scope}],
        "clients": [{"clientId": "filed"}],
    }
    (folder / "realm.json").write_text(json.dumps(document))
    paths = [f"clientScopes[s].attributes.{name}" for name in scope]
    # An attribute that repeats a field is read, and reported, as the field.
    repeated = LISTED_IF_GIVEN | NEVER_LISTED
    paths += [name if name in repeated else f"attributes.{name}" for name in attributes]
    return [*paths, *fields]


def run(realm: Administered, *arguments: str) -> str:
    gateway = realm.stack.gateways[0]
    done = CliRunner(env=dict(realm.stack.settings[gateway.pid])).invoke(main, arguments)
    assert done.exit_code in {0, 1}, done.output
    return done.output


def test_a_realm_file_is_imported_reporting_ignored_settings(
    realm: Administered, tmp_path: Path
) -> None:
    paths = written_file(tmp_path)
    file = str(tmp_path / "realm.json")
    planned = json.loads(run(realm, "realm", "plan", "--output", "json", file))
    (ineffective,) = [one["ineffective"] for one in planned]
    for lines in (ineffective, run(realm, "realm", "import", file).splitlines()):
        texts = [line.removeprefix(f"realm {REALM}: stored without effect: ") for line in lines]
        told = [text.partition(": ")[0] for text in texts]
        assert set(paths) <= set(told), lines
    assert run(realm, "realm", "plan", file).startswith(f"realm {REALM}: in sync")
    (client,) = realm.get("clients?clientId=filed")
    realm.done("PUT", f"clients/{client['id']}", client)
    realm.done("PUT", "", realm.get())


def statuses_by_secret(realm: Administered, client_id: str) -> tuple[int, int]:
    """Return the statuses of token requests with the secret in the header, and in the form."""
    grant = {"grant_type": "client_credentials"}
    form = grant | {"client_id": client_id, "client_secret": SECRET}
    by_header = realm.stack.token(REALM, grant, Authorization=basic(client_id))
    return by_header.status_code, realm.stack.token(REALM, form).status_code


def test_a_secret_sent_by_another_method_is_refused(
    realm: Administered,
) -> None:
    statuses = {}
    for method in ("client_secret_basic", "client_secret_post", ""):
        name = f"limited-{method}"
        attributes = {"client.secret.authentication.allowed.method": method}
        realm.client(clientId=name, serviceAccountsEnabled=True, attributes=attributes)
        statuses[method] = statuses_by_secret(realm, name)
    assert statuses == {
        "client_secret_basic": (200, 401),
        "client_secret_post": (401, 200),
        "": (200, 200),
    }


@pytest.mark.parametrize("method", ["client-jwt", "client-secret-jwt", "federated-jwt"])
def test_a_secret_does_not_authenticate_an_unsupported_method(
    realm: Administered, method: str
) -> None:
    realm.client(clientId="c", serviceAccountsEnabled=True, clientAuthenticatorType=method)
    assert set(statuses_by_secret(realm, "c")) <= {400, 401}
