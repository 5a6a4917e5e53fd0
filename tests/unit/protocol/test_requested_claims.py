"""Claims that a request asks for by the parameter `claims`. OpenID Connect Core §5.5."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.domain.clients import Client, ProtocolMapper
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.protocol.claims import prepare_plan
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.claims.subject import TokenSubject
from tests.support.mapped_documents import mapped_document

MADE = datetime(2026, 11, 20, tzinfo=UTC)
EVERYWHERE = dict.fromkeys(("id.token.claim", "userinfo.token.claim"), "true")
ESSENTIAL = {"essential": True}


def _document(mapper_type: str, claims: object, purpose: ClaimsFor, name: str = "") -> Any:
    ann = User(
        *("ann-uuid", "demo", "ann"),
        enabled=True,
        created_at=MADE,
        email="ann@x.test",
        first_name="Ann",
        last_name="Bee",
    )
    subject = TokenSubject(
        user=ann,
        client=Client("app-uuid", "demo", "app"),
        identifier=ann.id,
        roles=EffectiveRoles(),
        session_notes={},
        acr="1",
        requested_claims=json.dumps(claims) if claims is not None else "",
    )
    config = {**EVERYWHERE, "claim.name": name}
    plan = prepare_plan((ProtocolMapper("m", "m", mapper_type, config),))
    return mapped_document((plan,), subject, purpose)


def _essential(claims: object, purpose: ClaimsFor = ClaimsFor.ID_TOKEN) -> Any:
    return _document("oidc-claims-param-token-mapper", claims, purpose)


def test_essential_claims_are_added_to_the_named_document() -> None:
    wanted = dict.fromkeys(
        ("name", "given_name", "family_name", "preferred_username", "email"), ESSENTIAL
    )
    found = {
        "name": "Ann Bee",
        "given_name": "Ann",
        "family_name": "Bee",
        "preferred_username": "ann",
        "email": "ann@x.test",
    }
    assert _essential({"id_token": wanted}) == found
    assert _essential({"userinfo": wanted}, ClaimsFor.USERINFO) == found
    assert _essential({"userinfo": wanted}) == {}
    assert _essential({"id_token": wanted}, ClaimsFor.USERINFO) == {}
    assert _essential({"id_token": wanted}, ClaimsFor.ACCESS_TOKEN) == {}


@pytest.mark.parametrize(
    "wanted",
    [None, {}, {"essential": False}, {"essential": "true"}, {"value": "x"}, "essential", []],
)
def test_what_is_not_essential_is_not_added(wanted: object) -> None:
    assert _essential({"id_token": {"name": wanted}}) == {}


@pytest.mark.parametrize(
    "claims", [None, {}, {"id_token": None}, {"id_token": []}, [], "id_token", 7]
)
def test_a_parameter_of_another_shape_asks_for_nothing(claims: object) -> None:
    assert _essential(claims) == {}


def test_no_protocol_claim_is_taken_from_a_request() -> None:
    wanted = {"sub": {**ESSENTIAL, "value": "bob"}, "acr": ESSENTIAL, "unknown": ESSENTIAL}
    assert _essential({"id_token": wanted}) == {}
    for name in ("sub", "acr", "aud"):
        claims = {"id_token": {name: {"value": "x"}}}
        assert _value(claims, name) == {}


def _value(claims: object, name: str, purpose: ClaimsFor = ClaimsFor.ID_TOKEN) -> Any:
    return _document("oidc-claims-param-value-idtoken-mapper", claims, purpose, name)


def test_the_value_of_one_claim_is_copied_to_the_id_token() -> None:
    claims = {"id_token": {"intent": {"value": "i-1", "essential": True}}}
    assert _value(claims, "intent") == {"intent": "i-1"}
    assert _value(claims, "other") == {}
    assert _value(claims, "intent", ClaimsFor.USERINFO) == {}
    assert _value({"id_token": {"intent": {"value": ["i-1"]}}}, "intent") == {}
    assert _value({"userinfo": {"intent": {"value": "i-1"}}}, "intent") == {}
