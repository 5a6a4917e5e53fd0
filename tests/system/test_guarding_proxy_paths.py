"""A path reaches a service behind HAProxy, Apache, Caddy or Envoy only as the rules read it.

Source: attacks B3
"""

import json
from contextlib import suppress
from http.client import BadStatusLine
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.guarding_proxies import GuardingProxy, start_proxy
from tests.support.protected_sites import OPEN_HOST, Protected
from tests.support.proxy_process import OTHER_PROXIES

_CORPUS = Path(__file__).parents[1] / "unit/forward_auth/request_targets.jsonl"
_ROWS = [json.loads(line) for line in _CORPUS.read_text().splitlines()]
_NORMALIZED = {"caddy": {"http:/a": "/a"}}
"""What a proxy rewrites before it asks: question and service get the same path."""


@pytest.mark.parametrize("name", OTHER_PROXIES)
def test_the_path_the_service_gets_is_the_decided_one(open_site: Protected, name: str) -> None:
    """The proxy may refuse more by itself. attacks: B3."""
    misread, passed = {}, 0
    with start_proxy(name, OPEN_HOST, open_site) as proxy:
        for row in _ROWS:
            received = _received(proxy, row["uri"])
            passed += received is not None
            if received is not None and received != row["path"]:
                misread[row["uri"]] = received
    assert misread == _NORMALIZED.get(name, {})
    assert passed > 30


def _received(proxy: GuardingProxy, uri: str) -> str | None:
    """Return the path that the service gets, None where it gets no request."""
    received = proxy.protected.service.received
    received.clear()
    with suppress(BadStatusLine):  # HTTP/0.9 has none
        proxy.ask(uri)
    if not received:
        return None
    return unquote(received[0].target.partition("?")[0], errors="strict")
