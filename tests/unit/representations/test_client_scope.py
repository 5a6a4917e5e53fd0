"""Client scopes as JSON: what is read, merged and refused. The facts are Keycloak's (26.7)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients.client import ProtocolMapper
from gateway.domain.errors import InvalidInput
from gateway.representations.client_scopes import (
    parse_client_scope,
    render_client_scope,
    render_reference,
)
from gateway.storage.sql import clients
from gateway.storage.sql.migrations.versions import revision_0023
from tests.support.realms import texts
from tests.support.stored_documents import restored_scope, stored

DOCUMENT: dict[str, Any] = {
    "id": "my-own-id",
    "name": "full",
    "description": "d",
    "protocol": "openid-connect",
    "attributes": {"include.in.token.scope": "false", "a": "2", "z": "1"},
    "protocolMappers": [
        {
            "id": "4add46d1",
            "name": "m",
            "protocol": "openid-connect",
            "protocolMapper": "oidc-hardcoded-claim-mapper",
            "consentRequired": False,
            "config": {"claim.name": "x", "claim.value": "y"},
        },
        {
            "id": "4add46d2",
            "name": "m",
            "protocol": "saml",
            "protocolMapper": "saml-role-list-mapper",
            "consentRequired": False,
            "config": {},
        },
    ],
}

mappers = st.builds(
    ProtocolMapper,
    id=st.uuids().map(str),
    name=texts.filter(bool),
    mapper_type=texts.filter(bool),
    config=st.dictionaries(texts, texts.filter(bool), max_size=3),
    protocol=st.sampled_from(["openid-connect", "saml", "docker-v2"]),
)
scopes = st.builds(
    ClientScope,
    id=st.uuids().map(str),
    realm_id=st.just("demo-id"),
    name=st.from_regex(r"[\x21\x23-\x5B\x5D-\x7E]{1,255}", fullmatch=True),
    description=st.none() | texts,
    protocol=st.sampled_from(["openid-connect", "saml"]),
    attributes=st.dictionaries(texts, texts, max_size=3),
    mappers=st.lists(mappers, max_size=3, unique_by=lambda one: (one.protocol, one.name)).map(
        tuple
    ),
    realm_default=st.none() | st.sampled_from(list(RealmDefault)),
)


def test_a_document_comes_back_as_it_was_read() -> None:
    assert render_client_scope(parse_client_scope(DOCUMENT, "demo-id")) == DOCUMENT


def test_members_are_in_keycloaks_order_and_absent_ones_omitted() -> None:
    assert list(render_client_scope(parse_client_scope(DOCUMENT, "demo-id"))) == list(DOCUMENT)
    bare = parse_client_scope({"name": "x1"}, "demo-id")
    assert render_client_scope(bare) == {
        "id": bare.id,
        "name": "x1",
        "protocol": "openid-connect",
        "attributes": {},
    }
    assert render_reference(bare) == {"id": bare.id, "name": "x1", "protocol": "openid-connect"}
    assert render_reference(bare, protocol=False) == {"id": bare.id, "name": "x1"}


@given(scopes)
def test_a_fetched_scope_put_back_changes_nothing(scope: ClientScope) -> None:
    assert parse_client_scope(render_client_scope(scope), "demo-id", base=scope) == scope


@given(scopes)
def test_a_scope_of_revision_0022_is_the_same(scope: ClientScope) -> None:
    document = {"version": 1, **revision_0023._scope(stored(render_client_scope(scope)), "")}
    columns = ("id", "realm_id", "name", "realm_default")
    beside = {name: getattr(scope, name) for name in columns}
    assert clients._SCOPE_CODEC.decode(stored(document), **beside) == scope


@given(scopes)
def test_a_stored_scope_is_restored(scope: ClientScope) -> None:
    assert restored_scope(scope) == scope


def test_a_partial_document_keeps_what_it_leaves_out() -> None:
    before = parse_client_scope(DOCUMENT, "demo-id")
    assert parse_client_scope({"id": "other"}, "demo-id", base=before) == before


def test_attributes_are_merged_and_null_takes_one_out() -> None:
    before = parse_client_scope(DOCUMENT, "demo-id")
    sent = {"attributes": {"a": 3, "q": True, "z": None}}
    after = parse_client_scope(sent, "demo-id", base=before)
    assert after.attributes == {"include.in.token.scope": "false", "a": "3", "q": "true"}


def test_an_unknown_field_is_passed_over() -> None:
    scope = parse_client_scope({"name": "x", "foo": {"bar": 1}}, "demo-id")
    assert "foo" not in render_client_scope(scope)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, "named"),
        ({"include.in.token.scope": "true"}, "named"),
        ({"include.in.token.scope": "TRUE"}, "named"),
        ({"include.in.token.scope": "false"}, "hidden"),
        ({"include.in.token.scope": ""}, "hidden"),
    ],
)
def test_a_token_names_the_scope_unless_its_attribute_says_no(
    attributes: dict[str, str], text: str
) -> None:
    scope = parse_client_scope({"name": "x", "attributes": attributes}, "demo-id")
    assert scope.in_token_scope is (text == "named")


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"name": None},
        {"name": ""},
        {"name": "a b"},
        {"name": "ä"},
        {"name": 'x"y'},
        {"name": "x\\y"},
        {"name": "x\n"},
        {"name": "p" * 256},
        {"name": []},
        {"name": "x", "protocol": "docker-v2"},
        {"name": "x", "attributes": []},
        {"name": "x", "attributes": {"a": [1]}},
        {"name": "x", "attributes": {"a": "\ud800"}},
        {"name": "x", "protocolMappers": [{}]},
        {"name": "x", "protocolMappers": [DOCUMENT["protocolMappers"][0]] * 2},
        {"name": "x", "protocolMappers": [{**DOCUMENT["protocolMappers"][0], "foo": 1}]},
        {"name": "x", "protocolMappers": [{**DOCUMENT["protocolMappers"][0], "protocol": {}}]},
        [],
    ],
)
def test_what_no_scope_can_be_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        parse_client_scope(wrong, "demo-id")
