"""The corpus of redirect URIs at the authorization endpoint of a running gateway.

The lines are those of tests/unit/clients/redirect_uris.jsonl, with the verdicts that are expected.
A client is stored for each list of patterns, past the admin API: what is refused there may have
been stored before. RFC 9700 §4.1; Keycloak: 12.10
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.support.gateway_process import Gateway, start_gateway
from tests.support.sign_in_browser import PUBLIC_URL
from tests.support.wire import protocol

_CORPUS: Final[tuple[Mapping[str, Any], ...]] = tuple(
    json.loads(line)
    for line in (Path(__file__).parents[1] / "unit/clients/redirect_uris.jsonl")
    .read_text("utf-8")
    .splitlines()
)
_REALM: Final = "corpus"


def _patterns(line: Mapping[str, Any]) -> tuple[str, ...]:
    return (line.get("root", ""), *line["patterns"])


_CLIENTS: Final = {
    patterns: f"client-{number}"
    for number, patterns in enumerate(dict.fromkeys(map(_patterns, _CORPUS)))
}
"""Root URL and patterns -> the client that has them."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("corpus")
    clients = [
        {
            "clientId": client_id,
            "enabled": True,
            "publicClient": True,
            "rootUrl": patterns[0],
            "redirectUris": list(patterns[1:]),
        }
        for patterns, client_id in _CLIENTS.items()
    ]
    realm = {"realm": _REALM, "enabled": True, "sslRequired": "none", "clients": clients}
    (folder / "realms.json").write_text(json.dumps(realm))
    with start_gateway(
        folder, import_realm=folder / "realms.json", public_url=PUBLIC_URL
    ) as running:
        yield running


def _leads_to_client(http: httpx2.Client, line: Mapping[str, Any], uri: str) -> bool:
    """Ask for a code without a page; tell whether the error is sent to the redirect URI."""
    asked = {
        "client_id": _CLIENTS[_patterns(line)],
        "redirect_uri": uri,
        "response_type": "code",
        "scope": "openid",
        "prompt": "none",
    }
    answer = http.get(protocol(_REALM, "auth"), params=asked, follow_redirects=False)
    if answer.status_code == httpx2.codes.FOUND:
        assert answer.headers["location"].startswith(uri.partition("#")[0].partition("?")[0]), uri
        return True
    # nginx or the server may refuse a line that is too long, and the gateway a body.
    assert answer.status_code in {400, 413, 414}, f"{answer.status_code} {uri[:200]}"
    assert "location" not in answer.headers
    return False


def test_no_redirect_uri_of_the_corpus_is_wrongly_redirected_to(gateway: Gateway) -> None:
    """attacks: C1, C2. Every mode of matching: exact, `*` at the end, loopback, root URL."""
    assert len(_CORPUS) >= 300
    wrong = []
    with gateway.client() as http:
        for line in _CORPUS:
            uri = line["uri"].replace("{base}", PUBLIC_URL) + "a" * line.get("padding", 0)
            if _leads_to_client(http, line, uri) != (line["expected"] == "accepted"):
                wrong.append((line["group"], uri))
    assert wrong == []
