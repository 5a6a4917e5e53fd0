"""Without a decision of the gateway nothing reaches a service. Source: attacks B7, F2, F15."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import descendants
from tests.support.guarded_edge import DECISION, ODD_ANSWERS, GuardedEdge, start_guarded_edge
from tests.support.protected_sites import HOST, Protected, start_protected

_IMPATIENT = {
    "realmgate/guard-request.conf": ("proxy_read_timeout 5s;", "proxy_read_timeout 500ms;")
}


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[GuardedEdge]:
    """Run nginx with a gateway that answers as a test says."""
    folder = tmp_path_factory.mktemp("guarded")
    with start_guarded_edge(folder, edge_certificates, changes=_IMPATIENT) as edge:
        yield edge


@pytest.fixture
def edge(running: GuardedEdge) -> GuardedEdge:
    """Return it with nothing received."""
    running.forget()
    return running


@pytest.mark.parametrize("answer", ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_an_answer_that_is_no_decision_is_a_503(edge: GuardedEdge, answer: bytes) -> None:
    """attacks: B7."""
    edge.gateway.responses[DECISION] = answer
    with edge.nginx.client() as client:
        found = client.get(f"{edge.nginx.https}/", headers={"Host": HOST})
    assert found.status_code == 503
    assert int(found.headers["Retry-After"]) >= 1
    assert found.headers["Cache-Control"] == "no-store"
    assert found.headers["X-Request-Id"] in found.text
    assert edge.service.received == []


def test_a_program_gets_the_failure_as_a_document(edge: GuardedEdge) -> None:
    edge.gateway.failing = True
    try:
        with edge.nginx.client() as client:
            headers = {"Host": HOST, "Accept": "application/json"}
            found = client.post(f"{edge.nginx.https}/", headers=headers, content=b"x" * 500_000)
    finally:
        edge.gateway.failing = False
    assert found.status_code == 503
    assert found.json()["error"] == "temporarily_unavailable"
    assert edge.service.received == []


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Protected]:
    """Run a gateway that the tests stop."""
    folder = tmp_path_factory.mktemp("outages")
    with start_protected(folder, edge_certificates, {"changes": _IMPATIENT}) as protected:
        yield protected


def test_a_hanging_or_missing_gateway_lets_nothing_pass(stack: Protected) -> None:
    """Even an anonymous path needs a decision. attacks: B7."""
    assert stack.ask("/health").status_code == 200
    stack.service.forget()
    processes = [stack.gateway.pid, *descendants(stack.gateway.pid)]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert stack.ask("/health").status_code == 503
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)
    assert stack.ask("/health").status_code == 200
    stack.service.forget()
    stack.gateway.process.terminate()
    stack.gateway.process.wait(20)
    found = stack.ask("/health")
    assert found.status_code == 503
    assert int(found.headers["Retry-After"]) >= 1
    assert stack.service.received == []
