"""Users who sign in by a certificate alone, through nginx. Keycloak: 11.2, 15."""

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from gateway.crypto.x509.development_pki import ClientOrder, issue_client
from tests.support.administered_server import PREPARED, AdministeredServer
from tests.support.sign_in_browser import SignInBrowser
from tests.support.wire import PASSWORD, app, user

FLOW = "authentication/flows"
X509 = "x509-cert-auth"
NAMED = {
    "alias": "by name",
    "config": {
        f"{X509}.mapping-source-selection": "Subject's Common Name",
        f"{X509}.mapper-selection": "Username or Email",
    },
}
REALM = "by-certificate"


@pytest.fixture(scope="module")
def server(administered: AdministeredServer) -> Iterator[AdministeredServer]:
    """Return the server with a realm whose password grant asks for a certificate."""
    fields = {
        "enabled": True,
        "eventsEnabled": True,
        "clients": [app("app"), app("machine", serviceAccountsEnabled=True)],
        "users": [user("alice"), user("device-1", enabled=False)],
        "authenticationFlows": [
            {
                "alias": "certificate",
                "providerId": "basic-flow",
                "topLevel": True,
                "authenticationExecutions": [
                    {
                        "authenticator": "direct-grant-auth-x509-username",
                        "requirement": "REQUIRED",
                        "authenticatorConfig": "by name",
                    }
                ],
            }
        ],
        "authenticatorConfig": [NAMED],
        "directGrantFlow": "certificate",
        "components": PREPARED["components"],
    }
    with administered.realm(REALM, fields):
        yield administered


def signed_in(
    server: AdministeredServer, certificate: str | None, **form: str
) -> tuple[int, dict[str, str]]:
    """Sign in over TLS with a certificate, or without one."""
    assert server.certificates is not None
    context = ssl.create_default_context(cafile=str(server.authority))
    if certificate is not None:
        pair = server.certificates.pair(certificate)
        context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
    sent = {"grant_type": "password", "client_id": "app", **form}
    with httpx2.Client(verify=context) as http:
        url = f"{server.url}/realms/{REALM}/protocol/openid-connect/token"
        response = http.post(url, data=sent)
    return response.status_code, response.json()


def configured(server: AdministeredServer, **config: str) -> httpx2.Response:
    """Change the configuration of the step."""
    path = f"/{REALM}/{FLOW}/{quote('certificate')}/executions"
    step = server.get(path)[0]
    changed = {f"{X509}.{name.replace('_', '-')}": value for name, value in config.items()}
    document = {"alias": "by name", "config": {**NAMED["config"], **changed}}  # type: ignore[dict-item] # a dictionary of texts
    return server.ask(
        "PUT", f"/{REALM}/authentication/config/{step['authenticationConfig']}", document
    )


def test_users_see_with_which_certificates_they_have_signed_in(server: AdministeredServer) -> None:
    [device] = server.get(f"/{REALM}/users?username=device-1")
    server.ask("PUT", f"/{REALM}/users/{device['id']}", {"enabled": True})
    assert signed_in(server, "device-1")[0] == 200
    server.ask("PUT", f"/{REALM}/users/{device['id']}", {"enabled": False})
    for _ in range(2):
        status, answer = signed_in(server, "user")
        assert status == 200, answer
    with httpx2.Client(verify=ssl.create_default_context(cafile=str(server.authority))) as http:
        headers = {"Authorization": f"Bearer {answer['access_token']}"}
        headers["Accept"] = "application/json"
        url = f"{server.url}/realms/{REALM}/account/certificates"
        found = http.get(url, headers=headers)
    assert found.status_code == 200, found.text
    [seen] = found.json()
    assert "CN=alice" in seen["subject"]
    assert (seen["signIns"], int(seen["serialNumber"], 16) > 0) == (2, True)
    [event] = server.get(f"/{REALM}/events?type=LOGIN&max=1")
    assert event["details"]["x509_cert_subject_distinguished_name"] == seen["subject"]
    assert event["details"]["x509_cert_issuer_distinguished_name"] == seen["issuer"]


def test_users_find_their_certificates_in_the_account_console(server: AdministeredServer) -> None:
    assert signed_in(server, "user")[0] == 200
    context = ssl.create_default_context(cafile=str(server.authority))
    with httpx2.Client(verify=context, base_url=server.url) as http:
        browser = SignInBrowser(http, REALM, public_url=server.url)
        page = browser.get(f"/realms/{REALM}/account/account-security/signing-in")
        done = browser.submit(page, username="alice", password=PASSWORD)
        page = browser.get(done.location)
        page = browser.get(page.link("certificates-show"))
    assert page.id == "account-certificates"
    assert re.search(r"CN=alice.*Issuer CN=.*Serial number [0-9a-f]+ Last access", page.text)
    assert "Signing in" in page.html.partition('aria-current="page"')[2].partition("</a>")[0]


def test_a_certificate_names_no_user_who_looks_alike(server: AdministeredServer) -> None:
    """Who enters the name finds the user; the certificate was issued to another person."""
    [device] = server.get(f"/{REALM}/users?username=device-1")
    server.ask("DELETE", f"/{REALM}/users/{device['id']}")
    alike = user("dev\u0131ce-1")
    made = server.ask("POST", f"/{REALM}/users", alike)
    assert made.status_code == 201, made.text
    assert signed_in(server, "device-1")[0] == 400
    server.ask("DELETE", f"/{REALM}/users/{made.headers['location'].rpartition('/')[2]}")
    again = server.ask("POST", f"/{REALM}/users", user("device-1"))
    assert again.status_code == 201, again.text
    assert signed_in(server, "device-1")[0] == 200
    path = f"/{REALM}/users/{again.headers['location'].rpartition('/')[2]}"
    server.ask("PUT", path, {"enabled": False})


def test_a_locked_user_is_refused_with_a_certificate_too(server: AdministeredServer) -> None:
    """attacks: D3."""
    [alice] = server.get(f"/{REALM}/users?username=alice")
    lock_outs = f"/{REALM}/attack-detection/brute-force/users/{alice['id']}"
    guarded = {"failureFactor": 1, "waitIncrementSeconds": 600, "quickLoginCheckMilliSeconds": 0}
    server.ask("PUT", f"/{REALM}", {"bruteForceProtected": True, **guarded})
    try:
        assert signed_in(server, "user")[0] == 200
        context = ssl.create_default_context(cafile=str(server.authority))
        with httpx2.Client(verify=context, base_url=server.url) as http:
            browser = SignInBrowser(http, REALM, public_url=server.url)
            page = browser.get(f"/realms/{REALM}/account/")
            browser.submit(page, username="alice", password="wrong")
        assert server.get(lock_outs)["disabled"] is True
        refused = {"error": "invalid_grant", "error_description": "Invalid user credentials"}
        assert signed_in(server, "user") == (400, refused)
        server.ask("DELETE", lock_outs)
        assert signed_in(server, "user")[0] == 200
    finally:
        server.ask("PUT", f"/{REALM}", {"bruteForceProtected": False})


def test_the_common_name_of_a_certificate_is_the_user_name(server: AdministeredServer) -> None:
    for form in ({}, {"username": "device-1", "password": "wrong"}):
        status, answer = signed_in(server, "user", **form)
        assert status == 200, answer
        [event] = server.get(f"/{REALM}/events?type=LOGIN&max=1")
        assert event["details"]["username"] == "alice", "not the name of the form"


@pytest.mark.parametrize(
    ("certificate", "status", "error", "text"),
    [
        (None, 401, "invalid_request", "X509 client certificate is missing."),
        ("device-1", 400, "invalid_grant", "Account disabled"),
        ("device-2", 400, "invalid_grant", "Invalid user credentials"),
    ],
)
def test_a_sign_in_without_a_certificate_of_a_user_fails(
    server: AdministeredServer, certificate: str | None, status: int, error: str, text: str
) -> None:
    expected = {"error": error, "error_description": text}
    assert signed_in(server, certificate) == (status, expected)
    [event] = server.get(f"/{REALM}/events?type=LOGIN_ERROR&max=1")
    assert event["details"].get("username") == certificate
    assert signed_in(server, certificate, username="alice", password="x") == (status, expected)


def test_the_only_group_of_a_pattern_is_the_user_name(server: AdministeredServer) -> None:
    source = "Match SubjectDN using regular expression"
    for pattern, status in (
        ("cn=(.*?)(?:,|$)", 200),
        ("OU=(.*?)(?:,|$)", 400),
        ("CN=", 401),
        ("CN=(.*?)(,|$)", 401),
    ):
        done = configured(server, mapping_source_selection=source, regular_expression=pattern)
        assert done.status_code == 204
        assert signed_in(server, "user")[0] == status, pattern
    assert configured(server).status_code == 204


def test_a_custom_attribute_finds_the_one_user_who_has_it(server: AdministeredServer) -> None:
    """attacks: A15."""
    custom = {
        "mapping_source_selection": "Certificate Serial Number and IssuerDN",
        "mapper_selection": "Custom Attribute Mapper",
        "mapper_selection.user_attribute_name": "serial##issuer",
    }
    assert signed_in(server, "user")[0] == 200
    [event] = server.get(f"/{REALM}/events?type=LOGIN&max=1")
    # Identities have it in decimal digits, as in Keycloak.
    serial = str(int(event["details"]["x509_cert_serial_number"], 16))
    issuer = event["details"]["x509_cert_issuer_distinguished_name"]
    [alice] = server.get(f"/{REALM}/users?username=alice")
    [device] = server.get(f"/{REALM}/users?username=device-1")

    def holds(holder: dict[str, Any], serial: str, issuer: str) -> None:
        attributes = {"serial": [serial], "issuer": [issuer]}
        server.ask("PUT", f"/{REALM}/users/{holder['id']}", {**holder, "attributes": attributes})

    failed = "X509 certificate authentication's failed."
    assert configured(server, **custom).status_code == 204
    try:
        assert signed_in(server, "user")[1]["error_description"] == "Invalid user credentials"
        holds(alice, serial, issuer)
        status, answer = signed_in(server, "user")
        assert status == 200, answer
        holds(alice, serial, issuer.lower())
        assert signed_in(server, "user")[0] == 400
        holds(alice, serial, issuer)
        holds(device, serial, issuer)
        assert signed_in(server, "user")[1].get("error_description") == failed
    finally:
        for holder in (alice, device):
            server.ask("PUT", f"/{REALM}/users/{holder['id']}", {**holder, "attributes": {}})
        assert configured(server).status_code == 204


def test_a_service_account_does_not_sign_in_with_a_certificate(server: AdministeredServer) -> None:
    assert server.certificates is not None
    account = "service-account-machine"
    folder, order = server.certificates.folder, ClientOrder(account)
    issue_client(folder, account, order, now=datetime.now(UTC), force=True)
    expected = {"error": "invalid_grant", "error_description": "Invalid user credentials"}
    assert signed_in(server, account) == (400, expected)
    [event] = server.get(f"/{REALM}/events?type=LOGIN_ERROR&max=1")
    assert event["error"] == "invalid_user"


@pytest.mark.parametrize(
    ("name", "value"),
    [("crl_checking_enabled", "true"), ("ocsp_checking_enabled", "true"), ("keyusage", "x")],
)
def test_an_unavailable_certificate_check_refuses_the_sign_in(
    server: AdministeredServer, name: str, value: str
) -> None:
    assert configured(server, **{name: value}).status_code == 204
    assert signed_in(server, "user")[0] == 400
    assert configured(server).status_code == 204
    assert signed_in(server, "user")[0] == 200
