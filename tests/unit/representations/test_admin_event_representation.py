"""Admin events keep listed fields: no secret, password, key, token or PEM enters one."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.events import ResourceType
from gateway.representations.clients.client import parse_client, render_client
from gateway.representations.events import FIELDS, LARGEST, Fields, Named, recorded
from gateway.representations.realms.fields import REALM_FIELDS
from gateway.representations.shapes import MASK

_SECRET: Final = "open-sesame-1a2b3c"
_SECRET_NAMES: Final = (
    "value",
    "secret",
    "password",
    "secretData",
    "credentialData",
    "hashedSaltedValue",
    "salt",
    "registrationAccessToken",
    "token",
    "privateKey",
    "publicKey",
    "certificate",
    "codeSecret",
    "jwks",
    "keystorePassword",
    "keyPassword",
    "storePassword",
    "bindCredential",
    "authTokenClientSecret",
    "claim.value",
    "client.secret.rotated",
    "jwt.credential.certificate",
    "saml.signing.private.key",
    "a-name-that-nobody-knows",
)
_PEM: Final = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI\n-----END PRIVATE KEY-----"
_TOKEN: Final = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln"


def _names(node: object) -> set[str]:
    """Return every name of the table, the ones of free maps included."""
    if isinstance(node, Fields):
        inner = (_names(item) for item in node.inner.values())
        return {*node.shown, *node.masked, *node.inner}.union(*inner)
    return set(node.shown) if isinstance(node, Named) else set()


_RESOURCES: Final = st.sampled_from(ResourceType)
_PUBLIC: Final = st.one_of(st.none(), st.booleans(), st.integers(), st.just("public"))


def _known(resource: ResourceType) -> st.SearchStrategy[str]:
    """Return the names that show something; a client may be called `secret`, and have roles."""
    known = _names(FIELDS.get(resource)) - {*_SECRET_NAMES, "client", "clientRoles"}
    return st.sampled_from(sorted(known) or ["none"])


def _documents(leaf: st.SearchStrategy[Any], names: st.SearchStrategy[str]) -> Any:
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.dictionaries(names, inner, max_size=5), st.lists(inner, max_size=3)
        ),
        max_leaves=25,
    )


@st.composite
def _with_secrets(draw: st.DrawFn) -> tuple[ResourceType, Any]:
    """Draw a document whose secrets stand under names that hold secrets, however deep."""
    resource = draw(_RESOURCES)
    planted = _documents(st.just(_SECRET), _known(resource))
    wrapped = st.dictionaries(st.sampled_from(_SECRET_NAMES), planted, min_size=1, max_size=3)
    return resource, draw(_documents(st.one_of(_PUBLIC, wrapped), _known(resource)))


@st.composite
def _with_pem(draw: st.DrawFn) -> tuple[ResourceType, Any]:
    """Draw a document with PEM and tokens under any listed name."""
    resource = draw(_RESOURCES)
    return resource, draw(_documents(st.sampled_from([_PEM, _TOKEN, "public"]), _known(resource)))


@st.composite
def _any_document(draw: st.DrawFn) -> tuple[ResourceType, Any]:
    resource = draw(_RESOURCES)
    return resource, draw(_documents(_PUBLIC, _known(resource) | st.text(max_size=20)))


@given(_with_secrets())
def test_no_secret_is_recorded_under_any_field(
    given_one: tuple[ResourceType, Any],
) -> None:
    assert _SECRET not in recorded(*given_one)


@given(_with_pem())
def test_no_pem_and_no_token_is_recorded_under_listed_fields(
    given_one: tuple[ResourceType, Any],
) -> None:
    text = recorded(*given_one)
    assert "BEGIN" not in text
    assert "eyJ" not in text


@given(_any_document())
def test_whatever_is_sent_the_representation_is_json(
    given_one: tuple[ResourceType, Any],
) -> None:
    assert json.loads(recorded(*given_one)) is not None


def test_every_resource_type_says_which_fields_are_recorded() -> None:
    absent = ("AUTHORIZATION", "IDENTITY_PROVIDER", "ORGANIZATION", "USER_FEDERATION")
    assert {one for one in ResourceType if one not in FIELDS} == {
        one for one in ResourceType if one.startswith(absent)
    }


def test_a_listed_field_is_kept_as_it_was_sent_and_in_its_place() -> None:
    sent = {"username": "john", "enabled": True, "requiredActions": ["UPDATE_PASSWORD"]}
    assert recorded(ResourceType.USER, sent) == (
        '{"username":"john","enabled":true,"requiredActions":["UPDATE_PASSWORD"]}'
    )


def test_a_field_that_nobody_listed_is_left_out_with_its_name() -> None:
    assert recorded(ResourceType.USER, {"username": "john", "hint": "blue"}) == (
        '{"username":"john"}'
    )


def test_a_sent_secret_is_masked_so_its_change_is_visible() -> None:
    assert recorded(ResourceType.CLIENT, {"clientId": "a", "secret": _SECRET}) == (
        f'{{"clientId":"a","secret":"{MASK}"}}'
    )


def test_of_a_password_only_its_kind_is_recorded() -> None:
    sent = {"credentials": [{"type": "password", "value": _SECRET, "temporary": True}]}
    assert json.loads(recorded(ResourceType.USER, sent)) == {
        "credentials": [{"type": "password", "value": MASK, "temporary": True}]
    }


def test_of_a_free_map_every_name_is_kept_and_only_listed_values() -> None:
    sent = {"attributes": {"x509.subjectdn": "CN=a", "saml.private.key": _SECRET}}
    assert json.loads(recorded(ResourceType.CLIENT, sent)) == {
        "attributes": {"x509.subjectdn": "CN=a", "saml.private.key": MASK}
    }


def test_what_a_realm_file_brings_along_is_not_recorded() -> None:
    sent = {"realm": "acme", "users": [{"username": "john"}], "clients": [{"clientId": "c"}]}
    assert recorded(ResourceType.REALM, sent) == '{"realm":"acme"}'


def test_the_roles_of_a_client_are_kept_only_as_a_list() -> None:
    sent = {"clientRoles": {"a": ["reader"], "b": _SECRET, "c": {"value": _SECRET}}}
    assert json.loads(recorded(ResourceType.USER, sent)) == {"clientRoles": {"a": ["reader"]}}


def test_of_a_list_each_item_is_recorded() -> None:
    roles = [{"name": "a", "note": "x"}, {"name": "b"}, "c"]
    assert recorded(ResourceType.REALM_ROLE_MAPPING, roles) == '[{"name":"a"},{"name":"b"}]'


def test_a_list_of_a_listed_field_is_kept_without_objects_in_it() -> None:
    sent = {"realmRoles": ["a", {"value": _SECRET}, _PEM]}
    assert json.loads(recorded(ResourceType.USER, sent)) == {"realmRoles": ["a", MASK]}


def test_an_address_with_a_password_is_masked() -> None:
    sent = {"rootUrl": f"https://john:{_SECRET}@example.org/", "baseUrl": "https://example.org/"}
    assert json.loads(recorded(ResourceType.CLIENT, sent)) == {
        "rootUrl": MASK,
        "baseUrl": "https://example.org/",
    }


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_text_that_a_store_cannot_hold_is_masked(text: str) -> None:
    assert recorded(ResourceType.USER, {"username": text}) == f'{{"username":"{MASK}"}}'


@pytest.mark.parametrize("name", ["n" * 256, "-----BEGIN KEY-----", "a\ud800"])
def test_a_name_that_is_no_name_is_left_out_of_a_free_map(name: str) -> None:
    assert recorded(ResourceType.USER, {"attributes": {name: ["x"]}}) == '{"attributes":{}}'


def test_a_representation_beyond_the_bound_is_replaced_by_a_note() -> None:
    roles = [{"name": "n" * 200}] * (LARGEST // 200)
    assert list(json.loads(recorded(ResourceType.REALM_ROLE_MAPPING, roles))) == ["omitted"]


@pytest.mark.parametrize("sent", [None, "text", 7, [1, "a"]])
def test_a_document_without_fields_leaves_nothing(sent: object) -> None:
    assert recorded(ResourceType.USER, sent) in {"{}", "[]"}


def _settings(resource: ResourceType) -> set[str]:
    node = FIELDS[resource]
    assert isinstance(node, Fields)
    return {*node.shown, *node.masked, *node.inner}


def test_every_setting_of_a_realm_is_recorded() -> None:
    assert {row.name for row in REALM_FIELDS} <= _settings(ResourceType.REALM)


def test_every_client_field_is_recorded_but_its_nodes() -> None:
    given = {"clientId": "a", "secret": "s", "registeredNodes": {"a.example": 1}}
    written = render_client(parse_client(given, "realm"))
    assert set(written) - _settings(ResourceType.CLIENT) == {"registeredNodes"}
