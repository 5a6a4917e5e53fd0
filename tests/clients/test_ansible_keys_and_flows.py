"""Plays written for Keycloak's keys, components and flows do the same here."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.ansible import Ansible, converged


def _pem(key: rsa.RSAPrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()


def _certificate(key: rsa.RSAPrivateKey) -> str:
    name = x509.Name.from_rfc4514_string("CN=made")
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


def test_an_imported_key_is_made_once(
    ansible: Ansible, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...], own_realm: str
) -> None:
    key = rsa_private_keys[0]
    converged(
        ansible.every_state(
            "realm_key", own_realm, private_key=_pem(key), certificate=_certificate(key)
        )
    )


def test_keys_that_the_server_makes_are_made_once(ansible: Ansible, own_realm: str) -> None:
    converged(ansible.every_state("component", own_realm))


def test_a_flow_is_copied_and_changed_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("authentication", realm)
    converged(runs)
    kept = runs.of("first run")["end_state"]["authenticationExecutions"]
    assert [each["requirement"] for each in kept if each["level"] == 0] == [
        "REQUIRED",
        "REQUIRED",
        "DISABLED",
    ]


def test_a_flow_of_ones_own_is_made_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("authentication_of_ones_own", realm)
    converged(runs)
    kept = runs.of("first run")["end_state"]["authenticationExecutions"]
    assert [(each["level"], each.get("providerId"), each["requirement"]) for each in kept] == [
        (0, "direct-grant-validate-username", "REQUIRED"),
        (0, "direct-grant-validate-password", "REQUIRED"),
        (0, None, "CONDITIONAL"),
        (1, "conditional-user-configured", "REQUIRED"),
        (1, "direct-grant-validate-otp", "REQUIRED"),
    ]


def test_a_required_action_is_changed_and_removed_once(ansible: Ansible, own_realm: str) -> None:
    runs = ansible.every_state("authentication_required_actions", own_realm)
    converged(runs)
    (kept,) = (
        action
        for action in runs.of("second run")["end_state"]
        if action["alias"] == "UPDATE_PROFILE"
    )
    assert (kept["enabled"], kept["priority"]) == (False, 41)
