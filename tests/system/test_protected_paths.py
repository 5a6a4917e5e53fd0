"""Paths as the rules read them are the paths by which the real nginx chooses locations.

Source: attacks B3
"""

import json
import ssl
from pathlib import Path

import pytest

from tests.support.protected_sites import HOST, OPEN_HOST, Protected

CORPUS = Path(__file__).parents[1] / "unit/forward_auth/request_targets.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text().splitlines()]


def _ask(protected: Protected, uri: str, host: str = OPEN_HOST, *lines: str) -> bytes:
    """Send the request target as it is, and return the answer."""
    tls = ssl.create_default_context(cafile=protected.certificates.folder / "ca.crt")
    head = (f"GET {uri} HTTP/1.1", f"Host: {host}", *lines, "Connection: close")
    request = "\r\n".join((*head, "", "")).encode()
    return protected.nginx.raw(protected.nginx.site.https_port, request, tls)


def _status(protected: Protected, uri: str) -> int:
    """Return the status of the answer to a request target; 0 for HTTP/0.9, which has none."""
    found = _ask(protected, uri)
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


def test_an_accepted_path_is_the_one_nginx_chose_a_location_by(
    answers: dict[str, str | None],
) -> None:
    """A target that one of them reads in another way does not reach the service. attacks: B3."""
    assert answers == {row["uri"]: row["path"] for row in ROWS}


_UNMATCHED = b"Unable to find matching target resource method"
_ELSEWHERE = (
    "/realms/staff/account/",
    "/realms/staff/clients-registrations/default/",
    "/admin/realms/staff/group-by-path/",
    "/admin/realms/staff/roles/",
    "/admin/realms/staff/users/",
    "/resources/version/",
)
"""URLs of the gateway whose last segments are free."""


def test_a_site_leads_to_no_other_url_of_the_gateway(protected: Protected) -> None:
    """The location is that of `/.realmgate/`, and nginx passes the path as sent. attacks: B3."""
    token = f"Authorization: Bearer {protected.administration.token()}"
    for host in (OPEN_HOST, HOST):
        for url in _ELSEWHERE:
            for up in ("../", "%2e%2e/", "..%2f", "%2E.%2F", "./../"):
                uri = f"{url}{up * (url.count('/') - 1)}.realmgate/x"
                found = _ask(protected, uri, host, token)
                assert found.startswith(b"HTTP/1.1 404 "), (uri, found)
                assert _UNMATCHED in found, (uri, found)
