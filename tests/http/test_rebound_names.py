"""URLs of clients are fetched over https unless the operator says otherwise, and resolved once.

A name server of the attacker's choice answers each question with another address (DNS rebinding).
CWE-918; attacks: C20, C21
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import jwt

from gateway.outgoing.http_client import SystemResolver
from tests.support.client_documents import serving_documents
from tests.support.gateway_process import start_gateway
from tests.support.wire import SECRET, protocol

_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_INSIDE: Final = "127.0.0.1"
_OUTSIDE: Final = "127.0.0.2"
"""The one address that the gateway may fetch from."""


_FIRST_OUTSIDE: Final = "first-outside.example"
_FIRST_INSIDE: Final = "first-inside.example"
_ADDRESSES: Final = {
    _FIRST_OUTSIDE: (_OUTSIDE, _INSIDE),
    _FIRST_INSIDE: (_INSIDE, _OUTSIDE),
}
"""Name -> the answers to its questions, the last one from the second on."""


def _replace_name_server() -> None:
    """Answer as a name server of the attacker's choice does."""
    left = {host: list(addresses) for host, addresses in _ADDRESSES.items()}

    async def resolved(_: SystemResolver, host: str, port: int) -> list[str]:
        del port
        answers = left[host]
        return [answers.pop(0) if len(answers) > 1 else answers[0]]

    setattr(SystemResolver, "_resolved", resolved)  # noqa: B010 - a method is replaced


@contextmanager
def _fetching(
    folder: Path,
    urls: Mapping[str, str],
    prepare: Callable[[], None] | None = None,
    *,
    in_clear: bool,
) -> Iterator[httpx2.Client]:
    """Run a gateway with clients whose keys are at URLs."""
    clients = [
        {
            "clientId": client_id,
            "secret": SECRET,
            "serviceAccountsEnabled": True,
            "clientAuthenticatorType": "client-jwt",
            "attributes": {"use.jwks.url": "true", "jwks.url": url},
        }
        for client_id, url in urls.items()
    ]
    realm = {"realm": "r", "enabled": True, "clients": clients}
    (folder / "realms.json").write_text(json.dumps(realm))
    networks = f"{_OUTSIDE}/32"
    with (
        start_gateway(
            folder,
            import_realm=folder / "realms.json",
            fetch_networks=networks,
            environment={"REALMGATE_FETCH_HTTP": "true"} if in_clear else None,
            prepare=prepare,
        ) as gateway,
        gateway.client() as http,
    ):
        yield http


def _authenticate(http: httpx2.Client, client_id: str) -> tuple[int, Any]:
    """Send an assertion whose key has to be fetched."""
    claims = {"iss": client_id, "sub": client_id}
    token = jwt.encode(claims, "x" * 32, "HS256", {"kid": "k"}).split(".")
    header = jwt.utils.base64url_encode(b'{"alg":"ES256","kid":"k"}').decode()
    form = {
        "grant_type": "client_credentials",
        "client_assertion_type": _ASSERTION,
        "client_assertion": f"{header}.{token[1]}.{'A' * 86}",
    }
    answer = http.post(protocol("r", "token"), data=form)
    return answer.status_code, answer.json()["error_description"]


_NO_KEY: Final = (400, "Unable to load public key")


def test_a_name_that_changes_its_address_does_not_lead_inside(tmp_path: Path) -> None:
    """attacks: C21. The address that was checked is connected to, and the name resolved once."""
    with serving_documents(_INSIDE) as inside:
        port = int(inside.url.rpartition(":")[2])
        urls = {host: f"http://{host}:{port}/{host}" for host in _ADDRESSES}
        with (
            serving_documents(_OUTSIDE, port) as outside,
            _fetching(tmp_path, urls, _replace_name_server, in_clear=True) as http,
        ):
            for client_id in urls:
                assert _authenticate(http, client_id) == _NO_KEY
    assert inside.asked == []
    assert outside.asked == [f"/{_FIRST_OUTSIDE}"]


def test_nothing_is_fetched_without_tls_unless_allowed(tmp_path: Path) -> None:
    """attacks: C20, C21."""
    with (
        serving_documents(_OUTSIDE) as outside,
        _fetching(tmp_path, {"app": f"{outside.url}/jwks"}, in_clear=False) as http,
    ):
        assert _authenticate(http, "app") == _NO_KEY
    assert outside.asked == []
