"""No request passes because a store is away, and decisions return with it. Source: attacks B7."""

from collections.abc import Iterator

import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import until
from tests.support.protected_sites import HOST, PROXY_SECRET, Protected, start_protected
from tests.support.redis_server import RedisServer
from tests.support.servers import running


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """Run the Redis that goes away."""
    with running(RedisServer()) as server:
        yield server


@pytest.fixture(scope="module")
def protected(
    tmp_path_factory: pytest.TempPathFactory,
    edge_certificates: EdgeCertificates,
    redis: RedisServer,
) -> Iterator[Protected]:
    """Run a site whose gateway uses that Redis."""
    folder = tmp_path_factory.mktemp("outages")
    url = redis.url.reveal()
    with start_protected(folder, edge_certificates, redis_url=url) as started:
        yield started


def _status(protected: Protected, token: str) -> int:
    """Ask the gateway as nginx does."""
    headers = {
        "X-Realmgate-Proxy-Secret": PROXY_SECRET,
        "X-Original-Request": "GET /home/ HTTP/1.1",
        "X-Forwarded-Host": HOST,
        "X-Realmgate-Server": HOST,
        "Authorization": f"Bearer {token}",
    }
    with protected.gateway.client(**headers) as http:
        found = http.get("/.realmgate/guard/nginx")
    assert found.content == b""
    assert ("Retry-After" in found.headers) is (found.status_code == 503)
    return found.status_code


def test_without_redis_no_session_is_believed(protected: Protected, redis: RedisServer) -> None:
    """attacks: B7."""
    token = protected.token("ada")["access_token"]
    assert _status(protected, token) == 200
    redis.stop()
    try:
        until(lambda: _status(protected, token) == 503, "the decision is not 503")
        assert protected.ask("/home/", token=token).status_code == 503
        assert protected.ask("/public/").status_code == 200
    finally:
        redis.start()
    until(lambda: _status(protected, token) in {200, 401}, "decisions did not return")
