"""What a password hash may cost, whoever has chosen its parameters, through the real nginx.

Attack: a stored hash of 1 GiB and 100 passes, which anybody's wrong password lets compute.
"""

import hashlib
import json
import ssl
from base64 import b64encode
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event
from typing import Any

import httpx2
import pytest

from tests.support.hostile_stack import HostileStack, hashed
from tests.support.spec_stack import Stack, imported, refusal
from tests.support.wire import PASSWORD, app, user

REALM = "hash-limits"
CREDENTIALS = (400, "invalid_grant", "Invalid user credentials")
_ARGON2 = {
    "hashLength": ["32"],
    "memory": ["1048576"],
    "type": ["id"],
    "version": ["1.3"],
    "parallelism": ["1"],
}
GREEDY: Mapping[str, dict[str, Any]] = {
    "argon2": hashed("argon2", 100, _ARGON2),
    "pbkdf2": hashed("pbkdf2-sha256", 10_000_000),
}
ALLOWED = {
    "argon2": "argon2 with at most 65536 KiB and 8 lanes expected",
    "pbkdf2": "1 to 3000000 iterations of pbkdf2-sha256 expected",
}


def realm(**fields: Any) -> dict[str, Any]:
    return {
        "realm": REALM,
        "enabled": True,
        "sslRequired": "all",
        "defaultSignatureAlgorithm": "ES256",
        "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
        "clients": [app("app")],
        **fields,
    }


@pytest.fixture(scope="module")
def stack(spec: Stack) -> Iterator[HostileStack]:
    """Make a realm with a user."""
    made = HostileStack(spec)
    assert made.send("POST", "", realm(users=[user("alice")])).status_code == 201
    yield made
    made.send("DELETE", REALM)


@pytest.mark.parametrize("kind", GREEDY)
def test_an_expensive_hash_is_refused_wherever_it_is_sent(stack: HostileStack, kind: str) -> None:
    sent = user("mallory", credentials=[GREEDY[kind]])
    alice = f"{REALM}/users/{stack.id_of('alice', REALM)}"
    other = realm(users=[sent]) | {"realm": "hash-limits-2"}
    for response in (
        stack.send("POST", f"{REALM}/users", sent),
        stack.send("PUT", alice, {"credentials": [GREEDY[kind]]}),
        stack.send("POST", f"{REALM}/partialImport", {"users": [sent]}),
        stack.send("POST", "", other),
    ):
        assert response.status_code == 400
        assert ALLOWED[kind] in response.text
        assert GREEDY[kind]["secretData"] not in response.text
    assert stack.send("GET", "hash-limits-2").status_code == 404
    assert stack.send("GET", f"{REALM}/users?username=mallory").json() == []


@pytest.mark.parametrize(
    ("policy", "most"),
    [
        ("hashIterations(10000000)", "1 to 73 for argon2"),
        ("hashAlgorithm(pbkdf2-sha512) and hashIterations(10000000)", "1 to 1500000 for"),
    ],
)
def test_an_expensive_rule_is_refused_wherever_it_is_sent(
    stack: HostileStack, policy: str, most: str
) -> None:
    other = realm() | {"realm": "hash-limits-2", "passwordPolicy": policy}
    for response in (
        stack.send("PUT", REALM, {"passwordPolicy": policy}),
        stack.send("POST", "", other),
    ):
        assert response.status_code == 400
        assert most in response.text


@pytest.mark.parametrize("kind", GREEDY)
def test_an_expensive_stored_hash_is_a_wrong_password(stack: HostileStack, kind: str) -> None:
    name = f"old-{kind}"
    created = user(name, credentials=[imported("sha256", 1000)])
    assert stack.send("POST", f"{REALM}/users", created).status_code == 201
    assert stack.stack.sign_in(name, PASSWORD, REALM).status_code == 200
    stack.store_parameters(stack.id_of(name, REALM), GREEDY[kind]["credentialData"])
    before = stack.processor_seconds()
    assert refusal(stack.stack.sign_in(name, PASSWORD, REALM)) == CREDENTIALS
    assert stack.processor_seconds() - before < 1
    logged = [line["event"] for line in stack.stack.gateways[0].log()]
    assert "stored password is unusable" in logged


def test_pbkdf2_with_sha1_is_imported_and_verified(
    stack: HostileStack,
) -> None:
    """Keycloak 26 writes 64 bytes, four blocks of SHA-1, for 1,300,000 iterations."""
    value, salt = hashlib.pbkdf2_hmac("sha1", PASSWORD.encode(), b"salt", 1_300_000), b"salt"
    long = value + bytes(44)
    secret = {"value": b64encode(long).decode(), "salt": b64encode(salt).decode()}
    credential = hashed("pbkdf2", 1_300_000) | {"secretData": json.dumps(secret)}
    created = user("keycloak", credentials=[credential])
    assert stack.send("POST", f"{REALM}/users", created).status_code == 201
    assert stack.stack.sign_in("keycloak", PASSWORD, REALM).status_code == 200
    assert refusal(stack.stack.sign_in("keycloak", "wrong", REALM)) == CREDENTIALS


def test_a_realm_that_hashes_all_the_time_does_not_stop_another(stack: HostileStack) -> None:
    """attacks: D12."""
    full, over = Event(), Event()

    def hash_until_over(_: int) -> None:
        while not over.is_set():
            if stack.stack.sign_in("user-0", "wrong", "slow").status_code == 503:
                full.set()

    with ThreadPoolExecutor(19) as pool:
        greedy = [pool.submit(hash_until_over, number) for number in range(19)]
        try:
            assert full.wait(30)
            answers = [stack.stack.sign_in("alice", PASSWORD, REALM).status_code for _ in range(3)]
        finally:
            over.set()
    assert [one.exception() for one in greedy] == [None] * 19
    assert answers == [200] * 3


def test_one_network_does_not_stop_the_sign_ins_of_its_realm(stack: HostileStack) -> None:
    """Wrong passwords of many connections of one address, for unknown users and for the user.

    attacks: D12.
    """
    full, over = Event(), Event()
    site = stack.stack.nginx.site
    context = ssl.create_default_context(cafile=site.certificates / "ca.crt")

    def hash_until_over(number: int) -> None:
        transport = httpx2.HTTPTransport(verify=context, local_address="127.0.0.2")
        with httpx2.Client(transport=transport, timeout=30) as http:
            form = {"grant_type": "password", "client_id": "app", "password": "wrong"}
            form["username"] = ("user-0", f"nobody-{number}")[number % 2]
            while not over.is_set():
                if stack.stack.token("slow", form, http=http).status_code == 503:
                    full.set()

    with ThreadPoolExecutor(30) as pool:
        greedy = [pool.submit(hash_until_over, number) for number in range(30)]
        try:
            assert full.wait(30)
            answers = [stack.stack.sign_in("user-0", PASSWORD, "slow") for _ in range(5)]
        finally:
            over.set()
    assert [one.exception() for one in greedy] == [None] * 30
    assert [one.status_code for one in answers] == [200] * 5


def test_hashes_of_disconnected_callers_are_not_computed(stack: HostileStack) -> None:
    """A refusal comes after a pause, in which few of the dearest hashes are computed."""
    name, dearest = "hash-limits-dearest", 3_000_000
    policy = f"hashAlgorithm(pbkdf2-sha256) and hashIterations({dearest})"
    users = [user("user-0", credentials=[imported("sha256", dearest)])]
    made = realm(users=users) | {"realm": name, "passwordPolicy": policy}
    assert stack.send("POST", "", made).status_code == 201

    def wait_for_turn() -> None:
        while stack.stack.sign_in("user-0", PASSWORD, name).status_code != 200:
            pass

    wait_for_turn()
    before = stack.processor_seconds()
    wait_for_turn()
    one = stack.processor_seconds() - before
    status = 0
    while status != 503:  # 200 where the sign-in took its turn before the others had arrived
        before = stack.processor_seconds()
        with ExitStack() as open_connections:
            for _ in range(18):
                open_connections.enter_context(stack.signing_in("user-0", "wrong", name))
            status = stack.stack.sign_in("user-0", PASSWORD, name).status_code
    wait_for_turn()
    assert stack.processor_seconds() - before < 12 * one
    stack.send("DELETE", name)
