"""The reference configuration holds every value of the specification's parts 2.2, 2.3 and 8."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.admin.realm_files.files import REFERENCE_REALMS
from gateway.representations.clients.client import parse_client
from gateway.representations.field_table import camel_case
from gateway.representations.realms.realm import parse_realm, render_realm

PART_8 = {
    "access_token_lifespan": 60,
    "access_token_lifespan_for_implicit_flow": 900,
    "sso_session_idle_timeout": 900,
    "sso_session_max_lifespan": 36000,
    "sso_session_idle_timeout_remember_me": 0,
    "sso_session_max_lifespan_remember_me": 0,
    "offline_session_idle_timeout": 2592000,
    "offline_session_max_lifespan_enabled": True,
    "offline_session_max_lifespan": 0,
    "otp_policy_digits": 6,
    "otp_policy_look_ahead_window": 1,
    "otp_policy_period": 30,
    "events_expiration": 31536000,
    "failure_factor": 6,
    "max_failure_wait_seconds": 5400,
    "wait_increment_seconds": 1800,
    "max_delta_time_seconds": 86400,
    "quick_login_check_milli_seconds": 1000,
    "minimum_quick_login_wait_seconds": 60,
    "ssl_required": "all",
    "otp_policy_type": "totp",
    "otp_policy_algorithm": "HmacSHA256",
    "events_listeners": ["email"],
    "default_signature_algorithm": "RS256",
    "brute_force_protected": True,
}
PART_2_3 = {
    "hashAlgorithm": "pbkdf2-sha-256",
    "digits": "1",
    "lowerCase": "1",
    "upperCase": "1",
    "notUsername": None,
    "notEmail": None,
    "forceExpiredPasswordChange": "30",
    "passwordHistory": "4",
    "length": "16",
}


def realms() -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(Path(REFERENCE_REALMS).read_bytes())
    return document


def clients() -> dict[str, Any]:
    return {client["client_id"]: client for client in realms()[1]["clients"]}


@pytest.mark.parametrize("index", [0, 1], ids=["master", "demo"])
def test_every_value_of_the_specification_stands_in_it(index: int) -> None:
    realm = parse_realm(realms()[index])
    written = render_realm(realm)
    assert {name: written.get(camel_case(name)) for name in PART_8} == PART_8
    assert {rule.name: rule.argument for rule in realm.password_policy.rules} == PART_2_3
    assert written["browserSecurityHeaders"] == {
        "xFrameOptions": "SOMEORIGIN",
        "contentSecurityPolicyReportOnly": "",
        "xContentTypeOptions": "nosniff",
        "xRobotsTag": "none",
        "contentSecurityPolicy": "frame-src 'self'; frame-ancestors 'self'; object-src 'none';",
        "strictTransportSecurity": "max-age=31536000; includeSubDomains",
    }
    assert realm.enabled
    assert realm.id == realm.name == ("master", "demo")[index]


def test_devices_are_known_by_their_exact_certificate_subject() -> None:
    for number, name in ((1, "demo-device"), (2, "demo-device-2")):
        client = parse_client(clients()[name], "demo")
        assert client.client_authenticator_type == "client-x509"
        assert client.attributes == {
            "x509.subjectdn": f"CN=device-{number},OU=Devices,O=Realmgate Demonstration",
            "x509.allow.regex.pattern.comparison": "false",
            "tls.client.certificate.bound.access.tokens": "true",
        }


@pytest.mark.parametrize(
    ("name", "audience"),
    [
        ("demo-device", {"demo-device", "demo-service"}),
        ("demo-device-2", {"demo-device-2", "demo-service"}),
        ("demo-service", {"demo-service"}),
        ("demo-plain", {"demo-plain", "demo-service"}),
    ],
)
def test_tokens_name_who_may_introspect_them(name: str, audience: set[str]) -> None:
    client = parse_client(clients()[name], "demo")
    named = {
        mapper.config["included.client.audience"]
        for mapper in client.protocol_mappers
        if mapper.mapper_type == "oidc-audience-mapper"
    }
    assert named == audience
    assert client.service_accounts_enabled


def test_no_secret_stands_in_it() -> None:
    text = Path(REFERENCE_REALMS).read_text()
    assert re.findall('"(secret|value|password|secretData)"', text) == []
