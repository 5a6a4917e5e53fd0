"""Each protocol mapper puts its claim into a token, and none where it has nothing to say.

Spec: RFC 7519 §4.1.3; Keycloak: protocol mappers
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.domain.clients import Client, ProtocolMapper
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.protocol.claims import (
    CLAIM_MAPPERS,
    RESERVED_CLAIMS,
    ClaimsFor,
    add_mapped_claims,
)
from gateway.protocol.claims.audiences import audiences_of
from gateway.protocol.claims.subject import TokenSubject

MADE = datetime(2026, 1, 1, tzinfo=UTC)
FULL = TokenSubject(
    user=User(
        *("user-1", "demo", "alice"),
        enabled=True,
        created_at=MADE,
        email="alice@example.org",
        first_name="Alice",
        last_name="Doe",
    ),
    client=Client("client-1", "demo", "app", web_origins=("https://app.example.org",)),
    roles=EffectiveRoles(("auditor",), (("app", ("user",)), ("reports", ("reader", "writer")))),
    session_notes={"clientAddress": "192.0.2.7"},
    acr="1",
    groups=("/staff/audit",),
)
BARE = TokenSubject(
    user=User("user-2", "demo", "bob", enabled=True, created_at=MADE),
    client=Client("client-2", "demo", "plain"),
    roles=EffectiveRoles(),
    session_notes={},
    acr="1",
)
CASES: list[tuple[str, dict[str, str], dict[str, Any], dict[str, Any]]] = [
    ("oidc-sub-mapper", {}, {"sub": "user-1"}, {"sub": "user-2"}),
    ("oidc-acr-mapper", {}, {"acr": "1"}, {"acr": "1"}),
    (
        "oidc-allowed-origins-mapper",
        {},
        {"allowed-origins": ["https://app.example.org"]},
        {},
    ),
    ("oidc-audience-mapper", {"included.client.audience": "x"}, {"aud": "x"}, {"aud": "x"}),
    ("oidc-audience-mapper", {"included.custom.audience": "y"}, {"aud": "y"}, {"aud": "y"}),
    ("oidc-audience-resolve-mapper", {}, {"aud": "reports"}, {}),
    ("oidc-usermodel-realm-role-mapper", {}, {"realm_access": {"roles": ["auditor"]}}, {}),
    (
        "oidc-usermodel-client-role-mapper",
        {},
        {
            "resource_access": {
                "app": {"roles": ["user"]},
                "reports": {"roles": ["reader", "writer"]},
            }
        },
        {},
    ),
    ("oidc-full-name-mapper", {}, {"name": "Alice Doe"}, {}),
    (
        "oidc-group-membership-mapper",
        {"claim.name": "groups"},
        {"groups": ["/staff/audit"]},
        {"groups": []},
    ),
    (
        "oidc-group-membership-mapper",
        {"claim.name": "groups", "full.path": "false"},
        {"groups": ["audit"]},
        {"groups": []},
    ),
    (
        "oidc-usermodel-property-mapper",
        {"user.attribute": "email", "claim.name": "email"},
        {"email": "alice@example.org"},
        {},
    ),
    (
        "oidc-usersessionmodel-note-mapper",
        {"user.session.note": "clientAddress", "claim.name": "clientAddress"},
        {"clientAddress": "192.0.2.7"},
        {},
    ),
]


def _claims(
    mapper_type: str,
    config: dict[str, str],
    subject: TokenSubject,
    purpose: ClaimsFor = ClaimsFor.ACCESS_TOKEN,
) -> dict[str, Any]:
    claims: dict[str, Any] = {}
    mapper = ProtocolMapper("id", "name", mapper_type, {purpose: "true", **config})
    add_mapped_claims(claims, [mapper], subject, purpose)
    return claims


@pytest.mark.parametrize(("mapper_type", "config", "full", "bare"), CASES)
def test_a_mapper_adds_its_claim_where_there_is_something_to_tell(
    mapper_type: str, config: dict[str, str], full: dict[str, Any], bare: dict[str, Any]
) -> None:
    assert _claims(mapper_type, config, FULL) == full
    assert _claims(mapper_type, config, BARE) == bare


def test_every_mapper_is_among_the_cases() -> None:
    assert {mapper_type for mapper_type, *_ in CASES} == set(CLAIM_MAPPERS)


@pytest.mark.parametrize("purpose", ClaimsFor)
@pytest.mark.parametrize("option", ["false", "", "yes"])
@pytest.mark.parametrize("mapper_type", CLAIM_MAPPERS)
def test_a_mapper_adds_only_to_what_it_is_meant_for(
    mapper_type: str, option: str, purpose: ClaimsFor
) -> None:
    """Keycloak: an option that is absent, or anything but "true", says no."""
    config = {"included.client.audience": "x", "claim.name": "x", purpose: option}
    assert _claims(mapper_type, config, FULL, purpose) == {}


def test_two_audience_mappers_make_a_list_without_repetition() -> None:
    claims: dict[str, Any] = {}
    mappers = [
        ProtocolMapper(
            name,
            name,
            "oidc-audience-mapper",
            {"included.client.audience": name, "access.token.claim": "true"},
        )
        for name in ("a", "b", "a")
    ]
    add_mapped_claims(claims, mappers, FULL)
    assert claims == {"aud": ["a", "b"]}


@pytest.mark.parametrize("claim", sorted(RESERVED_CLAIMS))
@pytest.mark.parametrize(
    ("mapper_type", "source"),
    [
        ("oidc-usermodel-property-mapper", {"user.attribute": "emailVerified"}),
        ("oidc-usersessionmodel-note-mapper", {"user.session.note": "clientAddress"}),
    ],
)
def test_no_mapper_writes_a_protocol_claim_under_a_name_of_its_choice(
    mapper_type: str, source: dict[str, str], claim: str
) -> None:
    """Another issuer, subject or role, or a confirmation of no key, must not be forged."""
    assert _claims(mapper_type, {**source, "claim.name": claim}, FULL) == {}


def test_the_claims_that_decide_something_are_reserved() -> None:
    deciding = {
        *("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "typ", "azp", "scope", "sid", "cnf"),
        *("acr", "auth_time", "realm_access", "resource_access"),
    }
    assert deciding <= RESERVED_CLAIMS


@pytest.mark.parametrize(
    ("aud", "audiences"),
    [("a", ("a",)), (["a", 1, "b", None], ("a", "b")), (True, ()), ({"a": 1}, ()), (None, ())],
)
def test_audiences_are_texts_whatever_the_token_says(
    aud: object, audiences: tuple[str, ...]
) -> None:
    assert audiences_of({"aud": aud}) == audiences
