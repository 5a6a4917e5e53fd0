"""Debian's mod_oauth2, unmodified, verifies bound tokens with the result of forward-auth.

It has an implementation of its own of JWT, JWKS and of RFC 8705 §3. Both accept certificates of any
authority, as a token can be bound to each. attacks: A19
"""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpx2
import pytest

from tests.support.apache import apache_folder, start_apache
from tests.support.edge_certificates import EdgeCertificates
from tests.support.ports import ADDRESS, free_ports
from tests.support.protected_sites import Protected

_DIRECTIVES: Final = r"""
    SSLVerifyClient optional_no_ca
    SSLVerifyDepth 3
    SSLCACertificateFile {folder}/ca.crt
    <Location "/">
        AuthType oauth2
        OAuth2TokenVerify jwks_uri {jwks_uri} \
            jwks_uri.ssl_verify=false&type=mtls&mtls.policy={policy}
        Require valid-user
    </Location>
"""
"""The module cannot be given the private authority of the gateway's certificate."""
_POLICIES: Final = {"optional": "/home/", "required": "/bound/"}
"""Of the module for unbound tokens, and a path whose rule of forward-auth is alike."""
_PAGES: Final = {"index.shtml": "<!doctype html><title>Members</title>"}


@dataclass(frozen=True, slots=True)
class Verifiers:
    """The module, a port for each policy, and forward-auth."""

    ports: dict[str, int]
    protected: Protected

    def statuses(
        self, token: str, certificate: str | None, policy: str = "required"
    ) -> tuple[int, int]:
        """Return the answers of the module and of forward-auth."""
        path = _POLICIES[policy]
        decided = self.protected.ask(
            path, token=token, certificate=certificate, listener="self_signed"
        )
        return self._verified(token, certificate, self.ports[policy]), decided.status_code

    def _verified(self, token: str, certificate: str | None, port: int) -> int:
        certificates = self.protected.certificates
        context = ssl.create_default_context(cafile=certificates.folder / "ca.crt")
        if certificate is not None:
            pair = certificates.pair(certificate)
            context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(verify=context, trust_env=False) as client:
            return client.get(f"https://{ADDRESS}:{port}/", headers=headers).status_code


@pytest.fixture(scope="module")
def verifiers(
    shared_protected: Protected, edge_certificates: EdgeCertificates
) -> Iterator[Verifiers]:
    """Run Apache with the module."""
    ports = dict(zip(_POLICIES, free_ports(len(_POLICIES)), strict=True))
    jwks_uri = f"{shared_protected.nginx.https}/realms/staff/protocol/openid-connect/certs"
    with apache_folder(edge_certificates.folder) as folder:
        sites = {
            port: _DIRECTIVES.format(folder=folder, jwks_uri=jwks_uri, policy=policy)
            for policy, port in ports.items()
        }
        with start_apache(folder, sites, _PAGES, module="oauth2"):
            yield Verifiers(ports, shared_protected)


@pytest.fixture(scope="module")
def bound(shared_protected: Protected) -> str:
    """Return a token that is bound to the certificate of device-1."""
    return shared_protected.bound_token("device-1")


@pytest.fixture(scope="module")
def unbound(shared_protected: Protected) -> str:
    """Return a token that is bound to nothing."""
    return str(shared_protected.token()["access_token"])


_REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.UNAUTHORIZED)
_ACCEPTED: Final = (HTTPStatus.OK, HTTPStatus.OK)


@pytest.mark.parametrize("policy", _POLICIES)
def test_a_bound_token_is_accepted_with_its_certificate_alone(
    verifiers: Verifiers, bound: str, policy: str
) -> None:
    for _ in range(2):  # the module keeps what it verified
        assert verifiers.statuses(bound, "device-1", policy) == _ACCEPTED
        for other in ("device-2", "self-signed", "unknown CA", None):
            assert verifiers.statuses(bound, other, policy) == _REFUSED, other


def test_a_token_is_bound_to_a_certificate_of_no_authority(verifiers: Verifiers) -> None:
    token = verifiers.protected.bound_token("self-signed", listener="self_signed")
    assert verifiers.statuses(token, "self-signed") == _ACCEPTED
    for other in ("device-1", "self-signed CA:TRUE", None):
        assert verifiers.statuses(token, other) == _REFUSED, other


@pytest.mark.parametrize("certificate", ["device-1", None])
def test_an_unbound_token_is_accepted_where_that_is_configured(
    verifiers: Verifiers, unbound: str, certificate: str | None
) -> None:
    assert verifiers.statuses(unbound, certificate, "optional") == _ACCEPTED
    assert verifiers.statuses(unbound, certificate, "required") == _REFUSED


def test_a_changed_token_is_refused_with_its_certificate(verifiers: Verifiers, bound: str) -> None:
    head, claims, signature = bound.split(".")
    for changed in (f"{head}.{claims}.{signature[::-1]}", f"{head}.{claims}.", "nonsense"):
        assert verifiers.statuses(changed, "device-1") == _REFUSED
