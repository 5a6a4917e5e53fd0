"""What each proxy does with each way of identifying, as docs/forward-auth-outcomes.md says.

The rule accepts every credential and requires nothing. attacks: A6, A8, A9, A19, B4
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import pytest

from scripts import forward_auth_outcomes_page
from scripts.outcomes_table import read_outcomes
from tests.support.guarding_proxies import GuardingProxy, start_proxy
from tests.support.protected_sites import HOST, Protected
from tests.support.proxy_process import OTHER_PROXIES

_ROWS: Final = read_outcomes(forward_auth_outcomes_page.OUTCOMES)
_LISTENERS: Final = {
    "nginx on": "mtls_port",
    "nginx optional": "https_port",
    "nginx optional_no_ca": "self_signed_port",
}
_PROXIES: Final = {
    "HAProxy optional": "haproxy",
    "Apache optional": "apache",
    "Caddy verify_if_given": "caddy",
    "Envoy optional": "envoy",
}
_REFUSED_HANDSHAKE: Final = "TLS handshake refused"


@dataclass(frozen=True, slots=True)
class Caller:
    """What a caller sends."""

    path: str = "/home/"
    token: str | None = None
    cookie: str | None = None
    certificate: str | None = None


@pytest.fixture(scope="module")
def callers(open_site: Protected) -> dict[str, Caller]:
    """Return the ways of identifying."""
    bearer = Caller(token=open_site.token()["access_token"])
    bound = Caller(token=open_site.bound_token("device-1"), certificate="device-1")
    self_signed = Caller(
        token=open_site.bound_token("self-signed", listener="self_signed"),
        certificate="self-signed",
    )
    impostor = "same-named CA with another key"
    return {
        "nothing": Caller(),
        "session cookie": Caller(cookie=open_site.browser_session()),
        "session cookie, unknown": Caller(cookie="__Host-realmgate-session=unknown"),
        "bearer token": bearer,
        "bearer token, invalid": Caller(token="invalid"),
        "bearer token, at a rule with `bound_only`": replace(bearer, path="/bound/"),
        "bearer token, at a rule with `audiences` that it lacks": replace(bearer, path="/aimed/"),
        "bearer token and a self-signed certificate": replace(bearer, certificate="self-signed"),
        "bound token with its certificate": bound,
        "bound token with another certificate": replace(bound, certificate="device-2"),
        "bound token without a certificate": replace(bound, certificate=None),
        "bound token with its self-signed certificate": self_signed,
        "certificate of a trusted authority": Caller(certificate="device-1"),
        "certificate of an unknown authority": Caller(certificate="unknown CA"),
        "certificate, expired": Caller(certificate="expired"),
        "certificate, revoked": Caller(certificate="revoked"),
        "certificate, self-signed": Caller(certificate="self-signed"),
        "certificate of an authority with the name of a trusted one": Caller(certificate=impostor),
    }


@contextmanager
def _running(column: str, site: Protected) -> Iterator[GuardingProxy]:
    if column in _PROXIES:
        with start_proxy(_PROXIES[column], HOST, site) as proxy:
            yield proxy
    else:
        port = getattr(site.nginx.site, _LISTENERS[column])
        yield GuardingProxy("nginx", port, HOST, site)


def _outcome(proxy: GuardingProxy, caller: Caller) -> str:
    """Return status and reason, or status and the credential that the service is told of."""
    service = proxy.protected.service
    service.forget()
    headers = () if caller.cookie is None else (f"Cookie: {caller.cookie}",)
    try:
        answer = proxy.ask(
            caller.path, *headers, token=caller.token, certificate=caller.certificate
        )
    except (ssl.SSLError, ConnectionError):
        assert service.received == []
        return _REFUSED_HANDSHAKE
    if answer.status == 200:
        (credential,) = service.last.all("X-Realmgate-Credential")
        return f"200 {credential}"
    assert service.received == []
    reason = answer.headers.get("x-realmgate-reason")
    return f"{answer.status} {reason or 'by the proxy'}"


def test_the_table_has_every_identification_and_proxy(
    callers: dict[str, Caller],
) -> None:
    columns = {*_LISTENERS, *_PROXIES}
    assert [row["sent"] for row in _ROWS] == list(callers)
    assert all(set(row["outcomes"]) == columns for row in _ROWS)
    assert set(_PROXIES.values()) == set(OTHER_PROXIES)


def test_the_page_has_the_same_table() -> None:
    page = forward_auth_outcomes_page
    assert page.PAGE.read_text() == page.page()


@pytest.mark.parametrize("column", [*_LISTENERS, *_PROXIES])
def test_each_way_of_identifying_has_the_outcome_of_the_table(
    open_site: Protected, callers: dict[str, Caller], column: str
) -> None:
    with _running(column, open_site) as proxy:
        found = {sent: _outcome(proxy, caller) for sent, caller in callers.items()}
    assert found == {row["sent"]: row["outcomes"][column] for row in _ROWS}
