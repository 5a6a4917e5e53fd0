"""nginx keeps a decision for less than two seconds, and for that very request of that caller."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.guarded_edge import DECISION, REFUSED, GuardedEdge, response, start_guarded_edge
from tests.support.protected_sites import DEVICE_HOST, HOST, start_protected

_ALLOWED = response("200 OK", "Remote-User: ada", "X-Realmgate-Token: signed")


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[GuardedEdge]:
    """Run an nginx that keeps decisions."""
    prefix = tmp_path_factory.mktemp("cached")
    with start_guarded_edge(prefix, edge_certificates, cached=True) as edge:
        yield edge


@pytest.fixture
def edge(running: GuardedEdge) -> GuardedEdge:
    """Return it, its gateway allowing everything."""
    running.forget()
    running.gateway.responses[DECISION] = _ALLOWED
    return running


def _ask(
    edge: GuardedEdge,
    path: str,
    *,
    method: str = "GET",
    host: str = HOST,
    headers: tuple[tuple[str, str], ...] = (),
    certificate: str | None = None,
) -> httpx2.Response:
    with edge.nginx.client(certificate) as client:
        url = f"{edge.nginx.https}{path}"
        return client.request(method, url, headers=[("Host", host), *headers])


def test_a_repeated_request_is_decided_once(edge: GuardedEdge) -> None:
    for _ in range(4):
        assert _ask(edge, "/repeated").status_code == 200
        assert edge.service.last.all("Remote-User") == ["ada"]
        assert edge.service.last.all("X-Realmgate-Token") == ["signed"]
    assert len(edge.gateway.received) < 4


def test_a_kept_decision_removes_authorization_too(edge: GuardedEdge) -> None:
    removing = response("200 OK", "Remote-User: ada", "X-Realmgate-Authorization: remove")
    sent = (("Authorization", "Bearer a"),)
    for path, decision, passed in (
        ("/removed", removing, []),
        ("/kept", _ALLOWED, ["Bearer a"]),
    ):
        edge.gateway.responses[DECISION] = decision
        for _ in range(4):
            assert _ask(edge, path, headers=sent).status_code == 200
            assert edge.service.last.all("Authorization") == passed
    assert len(edge.gateway.received) < 8


def test_a_decision_about_a_dpop_proof_is_never_kept(edge: GuardedEdge) -> None:
    """A proof is for one request, also within the second of the cache. RFC 9449 §11.1."""
    proof = (("Authorization", "DPoP a"), ("DPoP", "b"))
    for asked in range(1, 4):
        assert _ask(edge, "/proved", headers=proof).status_code == 200
        assert len(edge.gateway.received) == asked


_BEARER = (("Authorization", "Bearer a"),)
_DIFFERENT: dict[str, dict[str, Any]] = {
    "path": {"path": "/other"},
    "query": {"path": "/one?x"},
    "method": {"method": "POST"},
    "host": {"host": DEVICE_HOST},
    "host with a port": {"host": f"{HOST}:443"},
    "no token": {"headers": ()},
    "token": {"headers": (("Authorization", "Bearer b"),)},
    "cookie": {"headers": (*_BEARER, ("Cookie", "a=b"))},
    "token as a cookie": {"headers": (("Cookie", "Bearer a"),)},
    "no certificate": {"certificate": None},
    "certificate": {"certificate": "device-2"},
    "method override": {"headers": (*_BEARER, ("X-HTTP-Method-Override", "DELETE"))},
    "short method override": {"headers": (*_BEARER, ("X-HTTP-Method", "DELETE"))},
    "other method override": {"headers": (*_BEARER, ("X-Method-Override", "DELETE"))},
}


@pytest.mark.parametrize("difference", _DIFFERENT.values(), ids=_DIFFERENT)
def test_whatever_else_is_asked_gets_a_decision_of_its_own(
    edge: GuardedEdge, difference: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    path = f"/one-{len(request.node.name)}"
    base: dict[str, Any] = {"path": path, "headers": _BEARER, "certificate": "device-1"}
    assert _ask(edge, **base).status_code == 200
    asked = len(edge.gateway.received)
    edge.refuse("403 Forbidden")
    assert _ask(edge, **(base | difference)).status_code == 403
    assert [each.target for each in edge.gateway.received[asked:]] == [DECISION, REFUSED]


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_no_method_comes_to_the_service_by_a_kept_decision(edge: GuardedEdge, name: str) -> None:
    """The variable of a header that comes twice is the first one alone, before nginx 1.23."""
    assert _ask(edge, f"/{name}").status_code == 200
    assert _ask(edge, f"/{name}", headers=((name, ""), (name, "DELETE"))).status_code == 200
    assert edge.service.last.all(name) == []


def test_refusals_and_failures_are_not_kept(edge: GuardedEdge) -> None:
    for status in ("401 Unauthorized", "403 Forbidden", "503 Service Unavailable"):
        edge.refuse(status)
        assert _ask(edge, "/refused").status_code == int(status[:3])
    edge.gateway.responses[DECISION] = _ALLOWED
    assert _ask(edge, "/refused").status_code == 200


def test_a_decision_is_kept_for_less_than_two_seconds(edge: GuardedEdge) -> None:
    assert _ask(edge, "/ends").status_code == 200
    decided = time.monotonic()
    edge.refuse("403 Forbidden")
    while _ask(edge, "/ends").status_code == 200:
        assert time.monotonic() - decided < 2.1


def test_without_a_gateway_a_decision_is_kept_no_longer(edge: GuardedEdge) -> None:
    assert _ask(edge, "/ends").status_code == 200
    decided = time.monotonic()
    edge.gateway.failing = True
    try:
        while (status := _ask(edge, "/ends").status_code) == 200:
            assert time.monotonic() - decided < 2.1
    finally:
        edge.gateway.failing = False
    assert status == 503


def test_callers_do_not_reach_the_location_that_asks(edge: GuardedEdge) -> None:
    """attacks: B4."""
    assert _ask(edge, "/.realmgate/guard", headers=_BEARER).status_code == 404
    assert edge.gateway.received == []


def test_the_files_are_for_nginx_alone(edge: GuardedEdge) -> None:
    assert _ask(edge, "/kept", headers=_BEARER).status_code == 200
    folder = edge.nginx.prefix / "run/realmgate-decisions"
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert found
    assert all(path.stat().st_mode & 0o77 == 0 for path in [folder, *found])


def test_a_disabled_user_is_refused_in_two_and_a_half_seconds(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    with start_protected(tmp_path, edge_certificates, {"cached": True}) as protected:
        token = protected.token("changed-0")["access_token"]
        assert protected.ask("/admin", token=token).status_code == 200
        ask = protected.administration.ask
        (user,) = ask("GET", "staff/users?username=changed-0").json()
        disabled = ask("PUT", f"staff/users/{user['id']}", document={"enabled": False})
        assert disabled.is_success
        changed = time.monotonic()
        while protected.ask("/admin", token=token).status_code == 200:
            assert time.monotonic() - changed < 2.5
