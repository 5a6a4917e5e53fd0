"""Plays written for Keycloak's keys, components and flows do the same here."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.administered_server import PREPARED, AdministeredServer
from tests.support.ansible import Ansible, Runs, converged, every_state


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


@pytest.fixture(scope="module")
def runs(
    ansible: Ansible,
    administered: AdministeredServer,
    rsa_private_keys: tuple[rsa.RSAPrivateKey, ...],
    realm: str,
) -> Iterator[Mapping[str, Runs]]:
    """Run all of them at once: a start of Ansible costs as much as ten tasks."""
    key = rsa_private_keys[0]
    names = ("ansible-imported-keys", "ansible-generated-keys", "ansible-required-actions")
    with ExitStack() as stack:
        imported, generated, actions = (
            stack.enter_context(administered.realm(name, PREPARED)) for name in names
        )
        yield ansible.play(
            every_state(
                "realm_key", imported, private_key=_pem(key), certificate=_certificate(key)
            ),
            every_state("component", generated),
            every_state("authentication", realm),
            every_state("authentication_of_ones_own", realm),
            every_state("authentication_required_actions", actions),
        )


def test_an_imported_key_is_made_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["realm_key"])


def test_keys_that_the_server_makes_are_made_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["component"])


def test_a_flow_is_copied_and_changed_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["authentication"])
    kept = runs["authentication"].of("first run")["end_state"]["authenticationExecutions"]
    assert [each["requirement"] for each in kept if each["level"] == 0] == [
        "REQUIRED",
        "REQUIRED",
        "DISABLED",
    ]


def test_a_flow_of_ones_own_is_made_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["authentication_of_ones_own"])
    kept = runs["authentication_of_ones_own"].of("first run")["end_state"][
        "authenticationExecutions"
    ]
    assert [(each["level"], each.get("providerId"), each["requirement"]) for each in kept] == [
        (0, "direct-grant-validate-username", "REQUIRED"),
        (0, "direct-grant-validate-password", "REQUIRED"),
        (0, None, "CONDITIONAL"),
        (1, "conditional-user-configured", "REQUIRED"),
        (1, "direct-grant-validate-otp", "REQUIRED"),
    ]


def test_a_required_action_is_changed_and_removed_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["authentication_required_actions"])
    (kept,) = (
        action
        for action in runs["authentication_required_actions"].of("second run")["end_state"]
        if action["alias"] == "UPDATE_PROFILE"
    )
    assert (kept["enabled"], kept["priority"]) == (False, 41)
