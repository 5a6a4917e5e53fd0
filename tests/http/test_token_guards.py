"""What else an access token must be, beyond rightly signed. RFC 8725 §3; attacks C15.

Every token here carries a good signature of the realm's own key.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.domain.keys import SignatureAlgorithm
from tests.support.realm_keys import StolenKeys, realm_keys
from tests.support.wire import Wire, claims_of

Claims = dict[str, Any]
INACTIVE = {"active": False}


@pytest.fixture
def ring(wire: Wire) -> StolenKeys:
    """Return the realm's own keys, taken from the gateway's database."""
    return realm_keys(wire.gateway.state_dir, "wire")


def _signed(ring: StolenKeys, claims: Claims) -> str:
    return ring.sign(claims, SignatureAlgorithm.RS256, datetime.now(UTC))


def _without(name: str) -> Callable[[Claims], Claims]:
    return lambda claims: {key: value for key, value in claims.items() if key != name}


def _with(**changed: Any) -> Callable[[Claims], Claims]:
    return lambda claims: claims | changed


CHANGES: dict[str, Callable[[Claims], Claims]] = {
    "expired": lambda claims: claims | {"exp": claims["iat"] - 1},
    "expires never": _without("exp"),
    "expires in words": _with(exp="tomorrow"),
    "expires truly": _with(exp=True),
    "of another issuer": _with(iss="https://gateway.test/realms/other"),
    "of no issuer": _without("iss"),
    "an ID token without an id": lambda claims: _without("jti")(claims) | {"typ": "ID"},
    "an ID token of a session that is over": _with(typ="ID", sid="AAAAAAAAAAAAAAAAAAAAAAAA"),
    "a refresh token": _with(typ="Refresh"),
    "an offline token": _with(typ="Offline"),
    "a logout token": _with(typ="Logout"),
    "of no type": _without("typ"),
    "without an id": _without("jti"),
    "with a number for an id": _with(jti=1),
    "without an instant of issue": _without("iat"),
    "of a disabled client": _with(azp="disabled"),
    "of an unknown client": _with(azp="nobody"),
    "of no client": _without("azp"),
    "of another subject": _with(sub="00000000-0000-0000-0000-000000000000"),
    "of no subject": _without("sub"),
    "of a session that is over": _with(sid="AAAAAAAAAAAAAAAAAAAAAAAA"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_rightly_signed_token_is_inactive_when_it_is(
    wire: Wire, ring: StolenKeys, change: Callable[[Claims], Claims]
) -> None:
    """attacks: C15."""
    claims = claims_of(wire.token("aud"))
    assert wire.introspect(_signed(ring, claims)).json()["active"] is True
    assert wire.introspect(_signed(ring, change(claims))).json() == INACTIVE


def test_a_token_from_before_its_clients_not_before_is_inactive(wire: Wire) -> None:
    """Keycloak: notBefore."""
    assert wire.introspect(wire.token("stale")).json() == INACTIVE


@pytest.mark.parametrize(
    ("typ", "answered"),
    [
        ("ID", (400, "unsupported_token_type")),
        ("Logout", (400, "unsupported_token_type")),
        ("Refresh", (200, "invalid_token")),
    ],
)
def test_a_token_of_another_kind_cannot_be_revoked_as_one(
    wire: Wire, ring: StolenKeys, typ: str, answered: tuple[int, str]
) -> None:
    """RFC 7009 §2.2.1; attacks: C15. No refresh token is signed by a key that clients see."""
    form = {"client_id": "aud", "client_secret": "a-clients-secret"}
    token = _signed(ring, claims_of(wire.token("aud")) | {"typ": typ})
    answer = wire.post("revoke", form | {"token": token})
    assert (answer.status_code, answer.json()["error"]) == answered
