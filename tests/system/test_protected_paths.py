"""Paths as the rules read them are the paths by which the real nginx chooses locations.

Source: attacks B3
"""

import json
import ssl
from pathlib import Path

import pytest

from tests.support.protected_sites import OPEN_HOST, Protected

CORPUS = Path(__file__).parents[1] / "unit/forward_auth/request_targets.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text().splitlines()]


def _status(protected: Protected, uri: str) -> int:
    """Send the request target as it is, and return the status; 0 for HTTP/0.9, which has none."""
    tls = ssl.create_default_context(cafile=protected.certificates.folder / "ca.crt")
    head = f"GET {uri} HTTP/1.1\r\nHost: {OPEN_HOST}\r\nConnection: close\r\n\r\n"
    found = protected.nginx.raw(protected.nginx.site.https_port, head.encode(), tls)
    return int(found.split(b" ", 2)[1]) if found.startswith(b"HTTP/1.1 ") else 0


@pytest.fixture
def answers(protected: Protected) -> dict[str, str | None]:
    """Return nginx's `$uri` of every target that reached the service, None of the others."""
    found: dict[str, str | None] = {}
    for row in ROWS:
        protected.service.forget()
        status = _status(protected, row["uri"])
        received = protected.service.received
        assert (status == 200) is bool(received), row
        uris = [request.all("X-Uri-Of-Nginx")[0] for request in received]
        found[row["uri"]] = uris[0].encode("latin-1").decode() if uris else None
    return found


def test_an_accepted_path_is_the_one_that_nginx_chose_its_location_by(
    answers: dict[str, str | None],
) -> None:
    """A target that one of them reads in another way does not reach the service. attacks: B3."""
    assert answers == {row["uri"]: row["path"] for row in ROWS}
