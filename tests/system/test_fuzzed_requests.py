"""No request makes the gateway fail or tell a secret, whatever stands in it. Attacks S10, S20.

FUZZED_REQUESTS in the environment sends more of them; the seed is in the failure's message.
"""

import itertools
import json
import os
import random
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.fuzzed_requests import mutated, protocol_requests
from tests.support.spec_stack import CHEAP, DEVICE_SUBJECT, Stack, start_stack
from tests.support.wire import BOUND, app, client, device, user

SEED: Final = 20261122
COUNT: Final = int(os.environ.get("FUZZED_REQUESTS", "1500"))
MUTATIONS: Final = COUNT // 5
SECRET: Final = "canary-client-secret-0001"
PASSWORD: Final = "canary-password-0001"
REALM: Final = {
    "realm": "fuzzed",
    "enabled": True,
    "sslRequired": "all",
    "passwordPolicy": CHEAP,
    "defaultSignatureAlgorithm": "ES256",
    "users": [
        user("alice", credentials=[{"type": "password", "value": PASSWORD}]),
        user("bob", credentials=[{"type": "password", "value": PASSWORD}]),
    ],
    "groups": [{"name": "staff", "subGroups": [{"name": "night"}]}],
    "roles": {"realm": [{"name": "reader"}]},
    "clients": [
        app("page"),
        client("svc", directAccessGrantsEnabled=True) | {"secret": SECRET},
        device("device-1", DEVICE_SUBJECT, **BOUND),
    ],
}
KNOWN: Final = {
    "grant_type": ("password", "client_credentials", "refresh_token", "authorization_code"),
    "client_id": ("page", "svc", "device-1", "admin-cli"),
    "client_secret": (SECRET,),
    "username": ("alice", "bob"),
    "password": (PASSWORD,),
    "scope": ("openid", "openid offline_access", "profile email"),
}
IDENTITY: Final = frozenset({"id", "realm"})
"""What names an object: changed, the next request would ask about nothing."""


@pytest.fixture(scope="module")
def fuzzed(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Stack]:
    realms = [REALM, {"realm": "master", "enabled": True, "accessTokenLifespan": 3600}]
    folder = tmp_path_factory.mktemp("fuzzed")
    with start_stack(folder, edge_certificates, realms=realms) as stack:
        yield stack


def assert_sound(answer: httpx2.Response, about: str) -> None:
    """Check that the answer is no failure of the server, and quotes no canary."""
    assert answer.status_code < 500, f"{about}: {answer.status_code} {answer.text[:300]}"
    assert PASSWORD not in answer.text, about


def assert_log_is_clean(stack: Stack) -> None:
    (gateway,) = stack.gateways
    text = gateway.log_text()
    assert "canary-" not in text
    assert [line for line in gateway.log() if line["event"] == "unhandled"] == []


def test_no_protocol_request_fails_the_gateway_or_tells_a_secret(fuzzed: Stack) -> None:
    form = {"grant_type": "password", "client_id": "page", "username": "alice"}
    signed_in = fuzzed.token("fuzzed", form | {"password": PASSWORD, "scope": "openid"}).json()
    tokens = (signed_in["access_token"], signed_in["refresh_token"], signed_in["id_token"])
    device = fuzzed.nginx.client(fuzzed.certificates.pair("device-1"))
    requests = itertools.islice(protocol_requests(SEED, KNOWN, tokens), COUNT)
    with device:
        for number, request in enumerate(requests):
            answer = (device if number % 5 == 0 else fuzzed.http).request(
                request.method,
                f"{fuzzed.nginx.https}/realms/fuzzed/{request.path}".rstrip("/"),
                headers=dict(request.headers),
                content=request.body,
            )
            assert_sound(answer, f"seed {SEED}, request {number}: {request}")
            assert SECRET not in answer.text
    assert_log_is_clean(fuzzed)


def objects(stack: Stack) -> dict[str, Any]:
    """Return what the admin API shows of the realm, by the path that takes it back."""
    found: dict[str, Any] = {"fuzzed": stack.ask("fuzzed").json()}
    for kind, name in (
        *(("users", "id"), ("clients", "id"), ("groups", "id"), ("roles", "name")),
        *(("client-scopes", "id"), ("components", "id"), ("authentication/flows", "id")),
        ("authentication/required-actions", "alias"),
    ):
        for one in stack.ask(f"fuzzed/{kind}", max="4").json()[:4]:
            found[f"fuzzed/{kind}/{one[name]}"] = one
    for path in ("users/profile", "events/config", "client-policies/policies"):
        found[f"fuzzed/{path}"] = stack.ask(f"fuzzed/{path}").json()
    return found


def test_no_changed_document_fails_the_admin_api(fuzzed: Stack) -> None:
    chance = random.Random(SEED)  # noqa: S311 - a seed makes the run repeatable
    known = objects(fuzzed)
    token = fuzzed.administrator()
    paths = sorted(known)
    for number in range(MUTATIONS):
        path = paths[number % len(paths)]
        document = mutated(chance, known[path], IDENTITY)
        is_new = path.count("/") >= 2 and chance.random() < 1 / 4
        answer = fuzzed.http.request(
            "POST" if is_new else "PUT",
            f"{fuzzed.nginx.https}/admin/realms/{path.rpartition('/')[0] if is_new else path}",
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            content=json.dumps(document).encode("utf-8", "surrogatepass"),
        )
        assert_sound(answer, f"seed {SEED}, change {number} of {path}: {document}")
    assert_log_is_clean(fuzzed)
