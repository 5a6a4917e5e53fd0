"""What recorded clients sent to Keycloak 26.7.3 is answered here as Keycloak answered it.

Where the answer differs, tests/clients/deviations.py says so and why.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.clients.deviations import DEVIATIONS
from tests.support.administered_server import OTHER_SERVER, AdministeredServer
from tests.support.edge_certificates import EdgeCertificates
from tests.support.recorded_exchanges import RECORDINGS, read_recording
from tests.support.replay import Replay
from tests.support.replay_differences import Difference, differences


@pytest.fixture(scope="module")
def found(administered: AdministeredServer) -> dict[str, list[Difference]]:
    """All differences, by recording."""
    return {name: _replayed(name, administered) for name in RECORDINGS}


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
    found: dict[str, list[Difference]], deviation: "Deviation"
) -> None:
    assert any(deviation.explains(one) for listed in found.values() for one in listed)
