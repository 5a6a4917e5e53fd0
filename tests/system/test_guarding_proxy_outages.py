"""HAProxy, Apache, Caddy and Envoy ask the gateway: without a decision no request passes."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final
from urllib.parse import unquote

import pytest

from tests.support.guarded_edge import ODD_ANSWERS, response
from tests.support.guarding_proxies import GuardingProxy, start_proxy
from tests.support.ports import ADDRESS
from tests.support.protected_sites import HOST, PROXY_SECRET, Protected
from tests.support.proxy_process import OTHER_PROXIES
from tests.support.recording_upstream import RecordingUpstream, recording_upstream

_DECISIONS: Final = {"redirect", "a header too long"}
"""These proxies return redirects to the caller, and some read headers of any length."""
_ODD_ANSWERS: Final = {
    **{odd: ODD_ANSWERS[odd] for odd in ODD_ANSWERS if odd not in _DECISIONS},
    "created": response("201 Created", "Remote-User: ada"),
    "no content": response("204 No Content", "Remote-User: ada"),
}
_QUESTION: Final = {
    "X-Realmgate-Proxy-Secret": PROXY_SECRET,
    "X-Realmgate-Server": f"{HOST}:PORT",
    "X-Forwarded-Method": "DELETE",
    "X-Forwarded-Uri": "/a/%20?b",
    "X-Forwarded-Host": HOST,
    "X-Forwarded-For": ADDRESS,
    "X-Forwarded-Proto": "https",
    "ssl-client-verify": "SUCCESS",
    "ssl-client-cert": "",
}
_IN_THE_REQUEST: Final = ("X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host")
_BELOW: Final = "/.realmgate/guard/envoy"
"""Envoy asks with the method and the target of the request, below this path."""
_UNAVAILABLE: Final = dict.fromkeys(OTHER_PROXIES, 503)
_LONGEST_WAIT: Final = 9.0


@pytest.fixture(scope="module")
def gateway(open_site: Protected) -> Iterator[RecordingUpstream]:
    """Run a gateway that answers as a test says."""
    with recording_upstream(open_site.service.path.with_name("odd.sock")) as recording:
        recording.path.chmod(0o777)
        yield recording


@pytest.fixture
def service(open_site: Protected) -> RecordingUpstream:
    """Return the service, its memory cleared."""
    open_site.service.forget()
    return open_site.service


@pytest.fixture(scope="module")
def proxies(open_site: Protected, gateway: RecordingUpstream) -> Iterator[dict[str, GuardingProxy]]:
    """Run each proxy in front of it."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(start_proxy(name, HOST, open_site, gateway.path))
            for name in OTHER_PROXIES
        }


def _answer(gateway: RecordingUpstream, answer: bytes) -> None:
    """Let the gateway decide so."""
    targets = [f"/.realmgate/guard/{name}" for name in OTHER_PROXIES]
    gateway.responses = dict.fromkeys([*targets, f"{_BELOW}/home/", f"{_BELOW}/a/%20?b"], answer)


def _statuses(proxies: Mapping[str, GuardingProxy]) -> dict[str, int]:
    """Ask each proxy, all of them at once."""
    with ThreadPoolExecutor(len(proxies)) as pool:
        answers = pool.map(lambda proxy: proxy.ask("/home/"), proxies.values())
        return {name: answer.status for name, answer in zip(proxies, answers, strict=True)}


@pytest.mark.parametrize("odd", _ODD_ANSWERS)
def test_an_answer_that_is_no_decision_is_a_503(
    proxies: dict[str, GuardingProxy],
    gateway: RecordingUpstream,
    service: RecordingUpstream,
    odd: str,
) -> None:
    """attacks: B7."""
    _answer(gateway, _ODD_ANSWERS[odd])
    assert _statuses(proxies) == _UNAVAILABLE
    assert service.received == []


def test_a_failing_or_silent_gateway_lets_nothing_pass(
    proxies: dict[str, GuardingProxy], gateway: RecordingUpstream, service: RecordingUpstream
) -> None:
    """The proxies wait for five seconds at most. attacks: B7."""
    gateway.failing = True
    try:
        assert _statuses(proxies) == _UNAVAILABLE
    finally:
        gateway.failing = False
    _answer(gateway, b"")
    asked = time.monotonic()
    assert _statuses(proxies) == _UNAVAILABLE
    assert time.monotonic() - asked < _LONGEST_WAIT
    assert service.received == []


def test_a_gateway_that_is_gone_lets_nothing_pass(
    proxies: dict[str, GuardingProxy], gateway: RecordingUpstream, service: RecordingUpstream
) -> None:
    """attacks: B7."""
    socket = gateway.path.rename(gateway.path.with_suffix(".gone"))
    try:
        assert _statuses(proxies) == _UNAVAILABLE
    finally:
        socket.rename(gateway.path)
    assert service.received == []


def test_a_decision_lets_requests_pass_again(
    proxies: dict[str, GuardingProxy], gateway: RecordingUpstream, service: RecordingUpstream
) -> None:
    _answer(gateway, response("200 OK"))
    assert _statuses(proxies) == dict.fromkeys(OTHER_PROXIES, 200)
    assert len(service.received) == len(OTHER_PROXIES)


@pytest.mark.parametrize("name", OTHER_PROXIES)
def test_a_proxy_asks_by_what_it_found_out(
    proxies: dict[str, GuardingProxy], gateway: RecordingUpstream, name: str
) -> None:
    """attacks: B4."""
    _answer(gateway, response("403 Forbidden"))
    gateway.received.clear()
    forged = (f"{header}: forged" for header in _QUESTION if header != "X-Forwarded-Host")
    proxies[name].ask("/a/%20?b", *forged, certificate="device-1", method="DELETE")
    (asked,) = gateway.received
    found = {header: asked.all(header) for header in _QUESTION}
    port = str(proxies[name].port)
    values = {header: value.replace("PORT", port) for header, value in _QUESTION.items()}
    expected = {header: [value] for header, value in values.items() if value}
    (certificate,) = found.pop("ssl-client-cert")
    assert unquote(certificate).startswith("-----BEGIN CERTIFICATE-----\n")
    if name == "envoy":
        assert (asked.method, asked.target) == ("DELETE", f"{_BELOW}/a/%20?b")
        assert asked.all("Host") == [HOST]
        expected |= {header: [] for header in _IN_THE_REQUEST}
    assert found == expected
