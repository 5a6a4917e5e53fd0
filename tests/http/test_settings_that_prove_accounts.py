"""Settings that decide how accounts are proven need the rights of all accounts of the realm.

Otherwise `manage-realm` alone becomes `realm-admin`, and in `master` the administrator of all
realms. Keycloak 26.7 has no such rule. docs/decisions/0021-settings-that-prove-accounts.md
"""

import re
import time
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any, Final
from urllib.parse import quote

import httpx2
import pytest

from gateway.admin.access.account_proof import (
    OPERATIONS,
    REALM_ATTRIBUTES,
    REALM_MEMBERS,
)
from gateway.admin.access.rights import REALM_MANAGEMENT, AdminRole
from gateway.domain.realm.realm import WEBHOOK_SECRET
from gateway.representations.realms.fields import REALM_FIELDS
from gateway.representations.repeated_settings import MIRRORED
from tests.support.admin_operations import operations, send, title, url_of
from tests.support.administered_realm import (
    AdministeredRealm,
    administered_realm,
    person,
    with_every_role_over_master,
)
from tests.support.administration import Administration
from tests.support.chains import CA, Node, issue
from tests.support.gateway_process import until
from tests.support.mail_server import mail_server
from tests.support.mailed_links import MailedRealm, follow, link_of, mailed_realm
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import web_client
from tests.support.wire import device

FORBIDDEN: Final = 403
MAIL_PASSWORD: Final = "a mail server's word"
ADMINISTRATORS: Final[dict[str, list[str]]] = {
    "realm-only": ["manage-realm"],
    "clients-only": ["manage-clients"],
    "events-only": ["manage-events"],
    "imports": ["manage-realm", "manage-clients", "manage-users"],
    "almost": [str(role) for role in AdminRole if role is not AdminRole.IMPERSONATION],
    "everything": ["realm-admin"],
}
ROOT = issue("own root", None, CA)
OF_ENGINE = issue("engine", ROOT)
OF_CHIEF = issue("chief", ROOT)


@pytest.fixture(scope="module")
def mailed(administration: Administration) -> Iterator[MailedRealm]:
    """Make a realm with a user and a client that have every right over it."""
    chief = {"email": "chief@example.org", "firstName": "Chief", "lastName": "Officer"}
    every = {"clientRoles": {REALM_MANAGEMENT: ["realm-admin"]}}
    with mailed_realm(
        administration,
        "proving",
        ADMINISTRATORS,
        webAuthnPolicyPasswordlessPasskeysEnabled=False,
        attributes={
            **RECORDED["attributes"],
            "realmgate.webhook.url": "https://hook.example.test/",
            "realmgate.webhook.secret": "a secret of a webhook",
        },
        clients=[web_client("app", directAccessGrantsEnabled=True), device("engine", "CN=engine")],
        users=[
            person("chief", id="chief-id", **chief, **every),
            {
                "username": "service-account-engine",
                "serviceAccountClientId": "engine",
                **every,
            },
        ],
    ) as made:
        server = made.server.settings(password=MAIL_PASSWORD)
        made.realm.change("PUT", "", {"smtpServer": server})
        yield made


@pytest.fixture
def realm(mailed: MailedRealm) -> AdministeredRealm:
    return mailed.realm


def token(realm: AdministeredRealm, leaf: Node, **form: str) -> httpx2.Response:
    """Ask for a token with a certificate that the proxy does not know."""
    return realm.administration.http.post(
        f"/realms/{realm.name}/protocol/openid-connect/token",
        data=form,
        headers={
            "X-Forwarded-Proto": "https",
            "ssl-client-cert": quote(leaf.pem, safe=""),
            "ssl-client-verify": "FAILED:unable to verify the first certificate",
        },
    )


def tried(realm: AdministeredRealm, *requests: tuple[str, str, Any]) -> list[int]:
    """Send requests as `realm-only`; return their statuses."""
    return [realm.ask(*request, by="realm-only").status_code for request in requests]


def test_an_own_authority_does_not_give_the_rights_of_a_client(realm: AdministeredRealm) -> None:
    added = {"certificate": ROOT.pem, "kind": "anchor"}
    statuses = tried(realm, ("POST", "certificates/authorities", added))
    answer = token(realm, OF_ENGINE, grant_type="client_credentials", client_id="engine")
    assert (statuses, answer.status_code) == ([FORBIDDEN], 401)


def test_a_certificate_step_does_not_give_the_rights_of_a_user(realm: AdministeredRealm) -> None:
    """The flow is bound before the step is added, so that no later step needs a binding."""
    config = {
        "alias": "by name",
        "config": {
            "x509-cert-auth.mapping-source-selection": "Subject's Common Name",
            "x509-cert-auth.mapper-selection": "Username or Email",
        },
    }
    flow, executions = {"alias": "own", "providerId": "basic-flow", "topLevel": True}, []
    statuses = tried(
        realm,
        ("POST", "certificates/authorities", {"certificate": ROOT.pem, "kind": "anchor"}),
        ("POST", "authentication/flows", flow),
        (
            "POST",
            "authentication/flows/own/executions/execution",
            {"provider": "direct-grant-auth-x509-username"},
        ),
    )
    if statuses[1] == httpx2.codes.CREATED:
        executions = realm.get("authentication/flows/own/executions")
    for step in executions:
        tried(realm, ("POST", f"authentication/executions/{step['id']}/config", config))
        required = {**step, "requirement": "REQUIRED"}
        tried(realm, ("PUT", "authentication/flows/own/executions", required))
    tried(realm, ("PUT", "", {"directGrantFlow": "own"}))
    answer = token(
        realm, OF_CHIEF, grant_type="password", client_id="app", client_secret="a-clients-secret"
    )
    assert (statuses, answer.status_code) == ([FORBIDDEN] * 3, 401)


def test_an_own_mail_server_does_not_receive_the_links_of_a_user(mailed: MailedRealm) -> None:
    realm = mailed.realm
    with mail_server() as own:
        changes = {"smtpServer": own.settings(), "resetPasswordAllowed": True}
        statuses = tried(realm, ("PUT", "", changes))
        browser = mailed.browser()
        page = browser.open()
        forgotten = re.search(r'class="forgot" href="([^"]*)"', page.html)
        if forgotten is not None:
            browser.submit(browser.get(unescape(forgotten.group(1))), username="chief")
            [mail] = until(lambda: own.messages, "no mail at the own server")
            page = follow(browser, link_of(mail))
        assert (statuses, own.messages, page.id) == ([FORBIDDEN], [], "login")


def refused_subject(response: httpx2.Response) -> str:
    """Return the explanation of a refusal, empty for another answer."""
    if response.status_code != FORBIDDEN:
        return ""
    document = response.json()
    assert document["error"] == "HTTP 403 Forbidden"
    return str(document["error_description"])


OTHER_VALUES: Final[dict[str, Any]] = {
    "realm": "proving-renamed",
    "sslRequired": "all",
    "smtpServer": {"host": "mail.other.example", "from": "a@other.example"},
    "bruteForceStrategy": "LINEAR",
    "passwordPolicy": "length(3)",
    "otpPolicyType": "hotp",
    "otpPolicyAlgorithm": "HmacSHA256",
    "otpPolicyDigits": 8,
    "browserSecurityHeaders": {"xFrameOptions": "ALLOW-FROM https://other.example"},
    "dockerAuthenticationFlow": "browser",
    "clientProfiles": {"profiles": [{"name": "own", "executors": []}]},
    "clientPolicies": {"policies": [{"name": "own", "enabled": False}]},
    "defaultSignatureAlgorithm": "ES512",
    "eventsListeners": ["email"],
    "enabledEventTypes": ["LOGIN"],
    "supportedLocales": ["de"],
    "defaultRole": {"name": "other"},
    "attributes": {"team": "red"},
    "requiredCredentials": ["other"],
    **{
        f"webAuthnPolicy{kind}{name}": value
        for kind in ("", "Passwordless")
        for name, value in {
            "SignatureAlgorithms": ["RS256"],
            "RpId": "other.example",
            "ExtraOrigins": ["https://other.example"],
            "AttestationConveyancePreference": "direct",
            "AuthenticatorAttachment": "platform",
            "RequireResidentKey": "Yes",
            "ResidentKey": "discouraged",
            "UserVerificationRequirement": "discouraged",
            "AcceptableAaguids": ["ee882879-721c-4913-9775-3dfcce97072a"],
        }.items()
    },
}
"""Values that members do not have, where `other_value` would be refused as such."""
ENDS_THE_TOKEN: Final = {"enabled", "notBefore"}


def other_value(name: str, current: Any) -> Any:
    """Return a valid value that a member does not have."""
    if name in OTHER_VALUES:
        return OTHER_VALUES[name]
    if name.endswith("Flow"):
        return "docker auth"
    if isinstance(current, bool):
        return not current
    return current + 1 if isinstance(current, int) else "other"


def with_member(before: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the document that changes a member; the parts of a policy come with its name."""
    document = {name: other_value(name, before.get(name))}
    for kind in ("Passwordless", ""):
        if name.startswith(f"webAuthnPolicy{kind}"):
            entity = f"webAuthnPolicy{kind}RpEntityName"
            return {entity: before[entity], **document}
    return document


def members_of(listed: Mapping[str, str]) -> list[str]:
    return [field.name for field in REALM_FIELDS if field.name in listed]


def test_members_that_prove_accounts_need_every_right(mailed: MailedRealm) -> None:
    realm, server = mailed.realm, mailed.server.settings(password=MAIL_PASSWORD)
    before = realm.get("")
    for name in members_of(REALM_MEMBERS.proving):
        document = with_member(before, name)
        subject = refused_subject(realm.ask("PUT", "", document, by="almost"))
        named, _, lacking = subject.partition(" can give ")
        assert name in named.split(", "), (name, subject)
        assert lacking.endswith("the caller also needs impersonation")
        assert realm.get("") == before
        if name != "realm":
            realm.change("PUT", "", document, by="everything")
            assert realm.get("") != before, name
            realm.change("PUT", "", {**before, "smtpServer": server}, by="everything")
            assert realm.get("") == before, name


def test_a_refusal_names_one_role_where_many_are_missing(realm: AdministeredRealm) -> None:
    answer = realm.ask("PUT", "", {"resetPasswordAllowed": True}, by="realm-only")
    subject = refused_subject(answer)
    assert subject.endswith("the caller also needs realm-admin"), subject
    assert len(subject) < 200


def test_other_members_need_the_right_to_manage_the_realm(realm: AdministeredRealm) -> None:
    before = realm.get("")
    names = [name for name in members_of(REALM_MEMBERS.harmless) if name not in ENDS_THE_TOKEN]
    assert len(names) > 30
    refused = []
    for name in names:
        answer = realm.ask("PUT", "", with_member(before, name), by="realm-only")
        if name == "attributes":
            # Attributes are replaced as a whole: those that prove accounts would be removed.
            assert "attributes.realmgate.webhook.url" in refused_subject(answer)
        elif answer.status_code == FORBIDDEN:
            refused.append((name, refused_subject(answer)))
        realm.change("PUT", "", before)
    assert refused == []


def test_a_lower_not_before_needs_every_right(realm: AdministeredRealm) -> None:
    """Tokens and sessions that an administrator rejected would be accepted again."""
    now = int(time.time())
    realm.change("PUT", "", {"notBefore": now - 60}, by="realm-only")
    realm.change("PUT", "", {"notBefore": now - 30}, by="realm-only")
    for value in (now - 31, 0, "0"):
        subject = refused_subject(realm.ask("PUT", "", {"notBefore": value}, by="almost"))
        assert subject.startswith("a lower notBefore can give"), value
    assert realm.get("")["notBefore"] == now - 30
    realm.change("PUT", "", {"notBefore": 0}, by="everything")


ATTRIBUTES: Final[dict[str, str]] = {
    "realmgate.certificates.gatewayAuthorities": "true",
    "realmgate.certificates.policies": "1.3.6.1.4.1.55555.1",
    "realmgate.certificates.crl.policy": "soft",
    "realmgate.certificates.crl.urls": "https://lists.example/crl",
    "realmgate.certificates.crl.points": "on",
    "realmgate.certificates.ocsp": "soft",
    "realmgate.certificates.ocsp.url": "https://ocsp.example/",
    "realmgate.certificates.ocsp.scope": "chain",
    "realmgate.certificates.ocsp.nonce": "sent",
    "realmgate.certificates.renewal.overlap": "60",
    "realmgate.bruteForce.failuresPerAddress": "1",
    "realmgate.dpop.nonce": "true",
    "acr.loa.map": '{"gold": 1}',
    "acr.uri.map": '{"gold": 1}',
    "userProfileEnabled": "true",
    "realmgate.webhook.url": "https://other.example/",
    "realmgate.webhook.secret": "another secret of a webhook",
    "realmgate.webhook.events": "LOGIN",
}
REFUSED_ATTRIBUTES: Final = {
    "frontendUrl": "https://other.example",
    "_browser_header.*": "ALLOW",
    "client-policies.profiles": "{}",
    "client-policies.policies": "{}",
}
"""Spellings that are refused for every caller."""


def test_attributes_that_prove_accounts_need_every_right(realm: AdministeredRealm) -> None:
    assert {*ATTRIBUTES, *REFUSED_ATTRIBUTES} == REALM_ATTRIBUTES.proving.keys()
    before = realm.get("")
    for name, value in ATTRIBUTES.items():
        document = {"attributes": {**before["attributes"], name: value}}
        subject = refused_subject(realm.ask("PUT", "", document, by="almost"))
        assert subject.startswith(f"attributes.{name} can give"), (name, subject)
        realm.change("PUT", "", document, by="everything")
        if name != WEBHOOK_SECRET:
            # Setting it back needs the same rights; the secret is masked, and so unchanged.
            assert refused_subject(realm.ask("PUT", "", before, by="almost")), name
        realm.change("PUT", "", before, by="everything")
    for name, value in REFUSED_ATTRIBUTES.items():
        sent = name.replace("*", "xFrameOptions")
        document = {"attributes": {**before["attributes"], sent: value}}
        assert realm.refused("PUT", "", document, by="almost")[0] in {400, FORBIDDEN}, name


@pytest.mark.parametrize("name", ["realmgate.enrollment", "realmgate.certificates.later"])
def test_an_own_attribute_that_is_not_listed_proves(realm: AdministeredRealm, name: str) -> None:
    before = realm.get("")["attributes"]
    sent = {"attributes": {**before, name: "x"}}
    assert refused_subject(realm.ask("PUT", "", sent, by="almost")).startswith(f"attributes.{name}")


def test_attributes_without_proof_are_free(realm: AdministeredRealm) -> None:
    before = realm.get("")["attributes"]
    free = {
        "team": "red",
        "darkMode": "false",
        "realmgate.login.accentColor": "#ff0000",
        "realmgate.certificates.expiry.mail.days": "9",
        "parRequestUriLifespan": "70",
        "actionTokenGeneratedByUserLifespan.verify-email": "600",
    }
    realm.change("PUT", "", {"attributes": {**before, **free}}, by="realm-only")
    realm.change("PUT", "", {"attributes": before}, by="realm-only")


def test_a_realm_that_is_sent_again_needs_no_more_rights(realm: AdministeredRealm) -> None:
    """The admin console sends whole realms, secrets masked."""
    before = realm.get("", by="realm-only")
    assert before["smtpServer"]["password"] == "**********"
    realm.change("PUT", "", before, by="realm-only")
    renamed = {**before, "displayName": "Other"}
    realm.change("PUT", "", renamed, by="realm-only")
    assert realm.get("") == renamed
    realm.change("PUT", "", before, by="realm-only")
    for part in ("profiles", "policies"):
        path = f"client-policies/{part}"
        realm.change("PUT", path, {part: realm.get(path)[part]}, by="realm-only")
    events = realm.get("events/config")
    realm.change("PUT", "events/config", {**events, "eventsExpiration": 60}, by="events-only")
    realm.change("PUT", "events/config", events, by="events-only")


def test_another_spelling_of_a_setting_needs_the_same_rights(realm: AdministeredRealm) -> None:
    before = realm.get("")
    proving = {
        name: field for name, field in MIRRORED.items() if REALM_MEMBERS.proves(field) is True
    }
    assert len(proving) > 10
    for name, field in proving.items():
        value = str(other_value(field, before[field])).lower()
        value = "LINEAR" if name == "bruteForceStrategy" else value
        sent = {"attributes": {**before["attributes"], name: value}}
        assert field in refused_subject(realm.ask("PUT", "", sent, by="almost")), name
    changes: tuple[dict[str, Any], ...] = (
        {"smtp_server": OTHER_VALUES["smtpServer"]},
        {"reset_password_allowed": True},
        {"id": "other", "realm": "proving", "verifyEmail": True},
        {"id": "other", "realm": "other-name"},
    )
    for sent in changes:
        assert refused_subject(realm.ask("PUT", "", sent, by="almost")), sent
    assert realm.get("") == before


def test_a_client_has_no_other_flow_without_every_right(realm: AdministeredRealm) -> None:
    [flow] = [
        each["id"] for each in realm.get("authentication/flows") if each["alias"] == "direct grant"
    ]
    override = {"authenticationFlowBindingOverrides": {"browser": flow}}
    client = {"clientId": "shop", "secret": "a-clients-secret"}
    path = "clients/" + realm.change("POST", "clients", client, by="clients-only")
    registration = f"/realms/{realm.name}/clients-registrations/default"

    def register(method: str, url: str, document: dict[str, Any]) -> httpx2.Response:
        bearer = realm.administration.token("clients-only", realm.name)
        headers = {"Authorization": f"Bearer {bearer}"}
        return realm.administration.http.request(method, url, json=document, headers=headers)

    imported = {"clients": [{"clientId": "imported", **override}]}
    registered = (
        register("PUT", f"{registration}/shop", {**client, **override}),
        register("POST", registration, {"clientId": "other", **override}),
    )
    for answer in registered:
        assert "also needs" in answer.json()["error_description"], answer.text
    for answer in (
        realm.ask("PUT", path, {**client, **override}, by="clients-only"),
        realm.ask("POST", "clients", {"clientId": "other", **override}, by="clients-only"),
        realm.ask("POST", "partialImport", imported, by="imports"),
        realm.ask("POST", "partialImport", imported, by="almost"),
        *registered,
    ):
        assert answer.status_code == FORBIDDEN, (answer.request.url, answer.text)
    realm.change("PUT", path, override, by="everything")
    whole = realm.get(path, by="clients-only")
    realm.change("PUT", path, {**whole, "name": "Shop"}, by="clients-only")
    replaced = {"ifResourceExists": "OVERWRITE", "clients": [client]}
    assert refused_subject(realm.ask("POST", "partialImport", replaced, by="imports"))
    removed = {"authenticationFlowBindingOverrides": {"browser": ""}}
    subject = refused_subject(realm.ask("PUT", path, removed, by="clients-only"))
    assert subject.startswith("authenticationFlowBindingOverrides can give")
    assert realm.get(path)["authenticationFlowBindingOverrides"] == {"browser": flow}
    realm.change("DELETE", path, by="clients-only")


def test_operations_that_prove_accounts_need_every_right(administration: Administration) -> None:
    proving = [row for row in operations() if row.proven]
    assert len(proving) == len(OPERATIONS.proving)
    with administered_realm(administration, "proven", ADMINISTRATORS) as realm:
        for row in proving:
            url = url_of(row, lambda name: realm.name if name == "realm" else f"no-{name}")
            almost, every = (
                send(administration, row, url, administration.token(by, realm.name))
                for by in ("almost", "everything")
            )
            assert refused_subject(almost).startswith(f"{row.proven} can give"), title(row)
            assert every.status_code not in {FORBIDDEN, 500}, (title(row), every.text)


def test_a_document_that_is_sent_again_needs_no_more_rights(realm: AdministeredRealm) -> None:
    realm.change("POST", "localization/en", {"loginAccountTitle": "Hello"})
    [step] = [
        each
        for each in realm.get("authentication/flows/browser/executions")
        if each.get("providerId") == "auth-cookie"
    ]
    flows = {each["alias"]: each["id"] for each in realm.get("authentication/flows")}
    config = {"alias": "own", "config": {"default.reference.value": "x"}}
    made = realm.change("POST", f"authentication/executions/{step['id']}/config", config)
    [key, *_] = realm.get("components?type=org.keycloak.keys.KeyProvider")
    for path in (
        "users/profile",
        "authentication/required-actions/VERIFY_EMAIL",
        f"authentication/flows/{flows['browser']}",
        f"authentication/config/{made}",
        f"components/{key['id']}",
    ):
        stored = realm.get(path)
        realm.change("PUT", path, stored, by="realm-only")
        assert refused_subject(realm.ask("PUT", path, {**stored, "x": "y"}, by="realm-only")), path
        assert realm.get(path) == stored
    executions = "authentication/flows/browser/executions"
    [step] = [each for each in realm.get(executions) if each["id"] == step["id"]]
    realm.change("PUT", executions, step, by="realm-only")
    other = {**step, "requirement": "DISABLED"}
    assert refused_subject(realm.ask("PUT", executions, other, by="realm-only"))
    text = "/admin/realms/proving/localization/en/loginAccountTitle"
    bearer = {"Authorization": f"Bearer {realm.administration.token('realm-only', realm.name)}"}
    for sent, status in (("Hello", 204), ("Other", FORBIDDEN), ("", FORBIDDEN)):
        headers = {**bearer, "Content-Type": "text/plain"}
        answer = realm.administration.http.put(text, content=sent, headers=headers)
        assert answer.status_code == status, sent
    realm.change("DELETE", f"authentication/config/{made}")
    realm.change("DELETE", "localization/en")


def test_the_realm_master_needs_its_role_admin(administration: Administration) -> None:
    """An account of `master` can have the rights over every realm."""
    realm = AdministeredRealm(administration, "master")
    with with_every_role_over_master(realm, "nobody"):
        answer = realm.ask("PUT", "", {"resetPasswordAllowed": True}, by="nobody")
        assert refused_subject(answer).endswith("the caller also needs admin")
        assert refused_subject(realm.ask("POST", "components", {}, by="nobody"))
        realm.change("PUT", "", {"displayName": "Master"}, by="nobody")


def test_only_the_role_admin_ends_the_access_to_all_realms(
    administration: Administration,
) -> None:
    """Without `master` no administrator is left, and no request enables it again."""
    realm = AdministeredRealm(administration, "master")
    later = int(time.time()) + 3600
    with with_every_role_over_master(realm, "nobody"):
        for document in ({"enabled": False}, {"notBefore": later}):
            answer = realm.ask("PUT", "", document, by="nobody")
            (name,) = document
            assert refused_subject(answer).startswith(f"{name} of the realm master counts")
    after = realm.get("")
    assert (after["enabled"], after["notBefore"] < later) == (True, True)


def test_one_right_that_comes_from_master_is_not_enough(
    administration: Administration,
) -> None:
    document = {"resetPasswordAllowed": True}
    token_of_master = administration.token("manage-realm", "master")
    answer = administration.ask("PUT", "acme", token_of_master, document=document)
    assert refused_subject(answer).startswith("resetPasswordAllowed can give")
