"""What recorded clients sent to Keycloak 26.7.3 is answered here as Keycloak answered it.

Where an answer differs, tests/clients/deviations.py says so and why.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.clients.deviations import DEVIATIONS, Deviation
from tests.support.administered_server import OTHER_SERVER, AdministeredServer
from tests.support.edge_certificates import EdgeCertificates
from tests.support.recorded_exchanges import RECORDINGS, read_recording
from tests.support.replay import Replay
from tests.support.replay_differences import Difference, differences
from tests.support.spec_stack import ADMIN_PASSWORD, start_stack
from tests.support.wire import CHEAP

_MASTER = {
    "realm": "master",
    "enabled": True,
    "passwordPolicy": CHEAP,
    "sslRequired": "none",
    "accessTokenLifespan": 600,
}
"""Its tokens outlive a replay on a slow machine."""
_TIMEOUT = 60.0


@contextmanager
def _fresh_server(folder: Path, certificates: EdgeCertificates) -> Iterator[AdministeredServer]:
    """Run a gateway behind nginx that has the realm master alone, unless another is named."""
    if OTHER_SERVER:
        with httpx2.Client(timeout=_TIMEOUT) as http:
            password = os.environ.get("CLIENTS_SERVER_PASSWORD", "admin")
            yield AdministeredServer(OTHER_SERVER, password, http)
        return
    with start_stack(folder, certificates, realms=[_MASTER]) as stack:
        yield AdministeredServer(stack.nginx.https, ADMIN_PASSWORD, stack.http)


@pytest.fixture(scope="module")
def found(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> dict[str, list[Difference]]:
    """All differences, by recording, each replayed on a server of its own."""
    result = {}
    for name in RECORDINGS:
        with _fresh_server(tmp_path_factory.mktemp(name), edge_certificates) as server:
            result[name] = _replayed(name, server)
    return result


def _replayed(name: str, server: AdministeredServer) -> list[Difference]:
    replay = Replay(server)
    return [
        difference
        for exchange, answer in replay.run(read_recording(name))
        for difference in differences(name, replay, exchange, answer)
    ]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_is_answered_as_keycloak_answered_it(
    found: dict[str, list[Difference]], name: str
) -> None:
    unexplained = [
        str(difference)
        for difference in found[name]
        if not any(deviation.explains(difference) for deviation in DEVIATIONS)
    ]
    assert not unexplained, "\n".join(unexplained)


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=str)
def test_a_listed_deviation_still_deviates(
    found: dict[str, list[Difference]], deviation: Deviation
) -> None:
    assert any(deviation.explains(one) for listed in found.values() for one in listed)
