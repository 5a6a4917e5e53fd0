"""Anchors of a realm behind nginx, which does not know them, on two gateways.

The listener with `optional_no_ca` passes the certificates on. Attacks A6, A8, A14; decision 0020
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.support.chains import CA, Node, issue
from tests.support.spec_stack import Stack, protocol
from tests.support.wire import SECRET, client, device

REALM, CLIENT, MANAGER = "anchored", "edge-device", "manager"
AUTHORITIES = f"{REALM}/certificates/authorities"
ROOT = issue("fleet root", None, CA)
LEAF = issue("fleet device", ROOT)
LOOK_ALIKE = issue("fleet device", issue("fleet root", None, CA))
AT_BOTH = 8
"""Requests on connections of their own: enough to reach both gateways."""


@pytest.fixture(scope="module")
def stack(pair: Stack) -> Iterator[Stack]:
    document = {
        "realm": REALM,
        "enabled": True,
        "clients": [device(CLIENT, "CN=fleet device"), client(MANAGER)],
        "users": [
            {
                "username": f"service-account-{name}",
                "serviceAccountClientId": name,
                "clientRoles": {"realm-management": [role]},
            }
            for name, role in ((CLIENT, "realm-admin"), (MANAGER, "manage-realm"))
        ],
    }
    assert send(pair, "", document).status_code == httpx2.codes.CREATED
    yield pair
    assert pair.ask(REALM, "DELETE").status_code == httpx2.codes.NO_CONTENT


def send(stack: Stack, path: str, document: object, token: str | None = None) -> httpx2.Response:
    return stack.http.post(
        f"{stack.nginx.https}/admin/realms{path}",
        json=document,
        headers={"Authorization": f"Bearer {token or stack.administrator()}"},
    )


def answers(stack: Stack, node: Node, folder: Path, listener: str) -> list[int]:
    """Return the statuses of token requests with the certificate, each on a connection."""
    stem = folder / node.sha256[:8]
    stem.with_suffix(".crt").write_text(node.pem)
    key = node.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    stem.with_suffix(".key").write_bytes(key)
    form = {"grant_type": "client_credentials", "client_id": CLIENT}
    found = []
    for _ in range(AT_BOTH):
        with stack.nginx.client(stem) as client:
            answer = client.post(f"{listener}{protocol(REALM)}/token", data=form)
            found.append(answer.status_code)
    return found


def test_an_anchor_starts_and_ends_on_every_gateway_in_a_second(
    stack: Stack, tmp_path: Path
) -> None:
    open_listener = stack.nginx.self_signed

    def everywhere(node: Node, status: int) -> bool:
        return answers(stack, node, tmp_path, open_listener) == [status] * AT_BOTH

    assert everywhere(LEAF, 401)
    added = send(stack, f"/{AUTHORITIES}", {"certificate": ROOT.pem})
    assert added.status_code == httpx2.codes.CREATED, added.text
    _within_a_second(lambda: everywhere(LEAF, 200))
    assert everywhere(LOOK_ALIKE, 401)
    assert answers(stack, LEAF, tmp_path, stack.nginx.mtls) == [400] * AT_BOTH

    removed = stack.ask(f"{AUTHORITIES}/{ROOT.sha256}", "DELETE")
    assert removed.status_code == httpx2.codes.NO_CONTENT, removed.text
    _within_a_second(lambda: everywhere(LEAF, 401))


def test_an_own_anchor_gives_no_rights_through_the_proxy(stack: Stack, tmp_path: Path) -> None:
    """The client of the certificate is a `realm-admin`. Decision 0021."""
    form = {"grant_type": "client_credentials", "client_id": MANAGER, "client_secret": SECRET}
    asked = stack.http.post(f"{stack.nginx.https}{protocol(REALM)}/token", data=form)
    added = send(stack, f"/{AUTHORITIES}", {"certificate": ROOT.pem}, asked.json()["access_token"])
    assert added.status_code == httpx2.codes.FORBIDDEN, added.text
    assert added.json()["error_description"].startswith("the authorities of certificates can give")
    listener = stack.nginx.self_signed
    assert answers(stack, LEAF, tmp_path, listener) == [401] * AT_BOTH


def _within_a_second(holds: Callable[[], bool]) -> None:
    """Look until it holds; what began a second after the change must see it."""
    end = time.monotonic() + 1
    while True:
        began = time.monotonic()
        if holds():
            return
        assert began < end, "a gateway does not know the change"
