"""Reading and writing clients. Keycloak: ClientRepresentation."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.clients import allowed_origins, client_settings
from gateway.domain.clients.client import Client, ProtocolMapper
from gateway.domain.errors import InvalidInput
from gateway.domain.secrets import Secret
from gateway.representations.clients.client import (
    DEFAULT_SCOPES,
    OPTIONAL_SCOPES,
    InheritedScopes,
    parse_client,
    render_client,
)
from gateway.storage.sql.clients import decode_client
from gateway.storage.sql.migrations.versions import revision_0023
from tests.support.realms import counts, json_values, names, texts, thorough
from tests.support.stored_documents import restored_client, stored

SUBJECT = "x509.subjectdn"
EXACT = {"x509.allow.regex.pattern.comparison": "false"}
BOUND = "tls.client.certificate.bound.access.tokens"

clients = st.builds(
    Client,
    id=names,
    realm_id=st.just("realm-1"),
    client_id=names,
    enabled=st.booleans(),
    public_client=st.booleans(),
    bearer_only=st.booleans(),
    secret=st.none() | names.map(Secret),
    service_accounts_enabled=st.booleans(),
    full_scope_allowed=st.booleans(),
    not_before=counts,
    web_origins=st.lists(texts, max_size=2).map(tuple),
    default_client_scopes=st.lists(names, max_size=2).map(tuple),
    optional_client_scopes=st.lists(names, max_size=2).map(tuple),
    attributes=st.dictionaries(texts.map(lambda name: f"x.{name}"), texts.filter(bool), max_size=3),
    protocol_mappers=st.lists(
        st.builds(ProtocolMapper, names, names, names, st.dictionaries(texts, names, max_size=2)),
        max_size=3,
        unique_by=lambda mapper: mapper.name,
    ).map(tuple),
    document=st.dictionaries(
        texts.map(lambda name: f"x-{name}"),
        json_values.filter(lambda value: value is not None),
        max_size=2,
    )
    | st.just({"redirectUris": ["https://a/*"], "rootUrl": "https://a", "name": "A"}),
    standard_flow_enabled=st.booleans(),
    implicit_flow_enabled=st.booleans(),
).map(
    lambda client: replace(
        client,
        allowed_origins=allowed_origins(client.web_origins, client.document),
        **client_settings(client.attributes, client.document),
    )
)


def errors(document: Any, **options: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(InvalidInput) as refusal:
        parse_client(document, "realm-1", **options)
    return {error.path: (error.given, error.allowed) for error in refusal.value.errors}


def device(**attributes: object) -> dict[str, Any]:
    return {
        "clientId": "device",
        "clientAuthenticatorType": "client-x509",
        "attributes": {SUBJECT: "CN=device-1,O=Acme", **EXACT, **attributes},
    }


@given(clients)
@thorough
def test_what_is_written_is_read_back_to_an_equal_client(client: Client) -> None:
    assert parse_client(render_client(client, masked=False), "realm-1") == client


@given(clients)
@thorough
def test_a_client_of_revision_0022_keeps_every_byte(client: Client) -> None:
    before = stored(render_client(replace(client, secret=None)))
    document = stored({"version": 1, **revision_0023._client(before, client.client_id)})
    migrated = decode_client(document, "realm-1", client.id, client.client_id)
    assert migrated == parse_client(before, "realm-1")
    assert json.dumps(render_client(migrated)) == json.dumps(before)


def test_secrets_among_attributes_of_revision_0022_are_dropped() -> None:
    before = {"attributes": {"saml.signing.private.key": "canary", "x": "y"}, "secret": "canary"}
    document = revision_0023._client(before, "x")
    assert document == {"attributes": {"x": "y"}, "document": {}}
    sealed = {"attributes": {"client.secret.rotated": "sealed"}}
    assert revision_0023._client(sealed, "x")["rotated_secret"] == "sealed"


@given(clients)
@thorough
def test_what_is_stored_is_restored_as_if_it_were_read(client: Client) -> None:
    public = replace(client, secret=None)
    assert restored_client(client) == parse_client(render_client(public), "realm-1")


@given(clients)
@thorough
def test_a_fetched_body_put_back_changes_nothing(client: Client) -> None:
    assert parse_client(render_client(client), "realm-1", base=client) == client


def test_creation_defaults_and_order_are_those_of_keycloak() -> None:
    client = parse_client({"clientId": "x"}, "realm-1")
    written = render_client(client)
    assert list(written.items()) == [
        ("id", client.id),
        ("clientId", "x"),
        ("surrogateAuthRequired", False),
        ("enabled", True),
        ("alwaysDisplayInConsole", False),
        ("clientAuthenticatorType", "client-secret"),
        ("redirectUris", []),
        ("webOrigins", []),
        ("notBefore", 0),
        ("bearerOnly", False),
        ("consentRequired", False),
        ("standardFlowEnabled", True),
        ("implicitFlowEnabled", False),
        ("directAccessGrantsEnabled", False),
        ("serviceAccountsEnabled", False),
        ("publicClient", False),
        ("frontchannelLogout", False),
        ("protocol", "openid-connect"),
        ("attributes", {}),
        ("authenticationFlowBindingOverrides", {}),
        ("fullScopeAllowed", True),
        ("nodeReRegistrationTimeout", -1),
        ("defaultClientScopes", list(DEFAULT_SCOPES)),
        ("optionalClientScopes", list(OPTIONAL_SCOPES)),
    ]


def test_realm_scopes_are_inherited_only_without_both_lists() -> None:
    client = parse_client({"clientId": "x", "default_client_scopes": ["basic"]}, "realm-1")
    assert client.default_client_scopes == ("basic",)
    assert client.optional_client_scopes == ()
    assert (
        parse_client({"clientId": "x", "optionalClientScopes": []}, "r").default_client_scopes == ()
    )


def test_snake_case_is_read_too_and_both_spellings_are_refused() -> None:
    client = parse_client({"client_id": "x", "service_accounts_enabled": True}, "realm-1")
    assert (client.client_id, client.service_accounts_enabled) == ("x", True)
    assert "clientId" in errors({"client_id": "x", "clientId": "x"})


def test_id_and_secret_stay_unless_a_new_secret_is_given() -> None:
    before = replace(parse_client({"clientId": "x"}, "realm-1"), secret=Secret("old"))
    for same in ({}, {"secret": None}, {"secret": "**********"}):
        after = parse_client({"id": "other", **same}, "realm-1", base=before)
        assert (after.id, after.secret) == (before.id, Secret("old"))
    assert parse_client({"secret": "new"}, "realm-1", base=before).secret == Secret("new")
    with pytest.raises(InvalidInput, match="secret"):
        parse_client({"secret": ""}, "realm-1", base=before)


def test_the_secret_is_masked_and_stands_where_keycloak_puts_it() -> None:
    client = parse_client({"clientId": "x", "secret": "canary"}, "realm-1")
    assert "canary" not in repr(client)
    assert "canary" not in str(client.document)
    written = list(render_client(client).items())
    assert written[written.index(("clientAuthenticatorType", "client-secret")) + 1] == (
        "secret",
        "**********",
    )
    assert render_client(client, masked=False)["secret"] == "canary"


def test_a_wrong_secret_is_never_shown() -> None:
    found = errors({"clientId": "x", "secret": "canary\0"})
    assert found["secret"][0] == "a hidden value"


def test_a_mapper_without_an_id_keeps_the_one_of_its_name() -> None:
    mapper = {"name": "aud", "protocolMapper": "oidc-audience-mapper", "config": {"a": "b"}}
    document = {"clientId": "x", "protocolMappers": [mapper]}
    before = parse_client(document, "realm-1")
    assert before.protocol_mappers[0].id
    after = parse_client(document, "realm-1", base=before)
    assert after == before


@pytest.mark.parametrize(
    ("mapper", "path"),
    [
        ({"protocolMapper": "t"}, "[0].name"),
        ({"name": "a"}, "[0].protocolMapper"),
        ({"name": "a", "protocolMapper": "t", "protocol": {}}, "[0].protocol"),
        ({"name": "a", "protocolMapper": "t", "config": {"x": [1]}}, "[0].config.x"),
        ({"name": "a", "protocolMapper": "t", "confg": {}}, "[0].confg"),
        ("text", "[0]"),
    ],
)
def test_a_wrong_mapper_is_refused(mapper: object, path: str) -> None:
    assert f"protocolMappers{path}" in errors({"clientId": "x", "protocolMappers": [mapper]})


def test_two_mappers_of_one_name_are_refused() -> None:
    mapper = {"name": "a", "protocolMapper": "t"}
    assert "protocolMappers" in errors({"clientId": "x", "protocolMappers": [mapper, mapper]})


def test_a_certificate_subject_is_accepted_exact_and_as_pattern() -> None:
    assert parse_client(device(), "realm-1").attributes[SUBJECT] == "CN=device-1,O=Acme"
    assert parse_client(
        device(**{SUBJECT: "CN=device-[0-9]+, O=.*", next(iter(EXACT)): "true"}), "realm-1"
    )


@pytest.mark.parametrize("subject", ["", "  ", None])
def test_a_certificate_client_may_exist_before_its_subject(subject: object) -> None:
    client = parse_client(device(**{SUBJECT: subject}), "realm-1")
    assert client.certificate_authentication.subject == ""


@pytest.mark.parametrize("name", [SUBJECT, "x509.casubjectdn"])
@pytest.mark.parametrize("text", ["device-1", "CN", "CN=a,,O=b", "CN=a,O=b\\"])
def test_a_name_that_is_no_distinguished_name_is_refused(name: str, text: str) -> None:
    assert f"attributes.{name}" in errors(device(**{name: text}))


def test_a_pattern_that_may_match_for_hours_is_refused() -> None:
    """One client's pattern must not stop the event loop for all: CWE-1333."""
    pattern = {SUBJECT: "CN=(a+)+b, .*", "x509.allow.regex.pattern.comparison": "true"}
    ((given_, _),) = errors(device(**pattern)).values()
    assert "at most two unbounded repeats" in given_
    parse_client(device(**pattern | {SUBJECT: "CN=a+b, .*"}), "realm-1")


@pytest.mark.parametrize("pattern", ["(", "x" * 2001])
def test_a_subject_that_is_no_pattern_is_refused(pattern: str) -> None:
    wrong = device(**{SUBJECT: pattern, next(iter(EXACT)): "true"})
    assert f"attributes.{SUBJECT}" in errors(wrong)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (BOUND, "yes"),
        (BOUND, "True"),
        (next(iter(EXACT)), "no"),
        ("access.token.lifespan", "5m"),
        ("access.token.lifespan", "-2"),
        ("access.token.lifespan", "99999999999"),
        ("client.session.idle.timeout", "9223372036854775807"),
        ("client.session.max.lifespan", "9223372036854775807"),
        ("client.offline.session.idle.timeout", "9223372036854775807"),
        ("client.offline.session.max.lifespan", "9223372036854775807"),
        ("access.token.signed.response.alg", "none"),
        ("access.token.signed.response.alg", "HS1"),
        ("id.token.signed.response.alg", "none"),
        ("user.info.response.signature.alg", "none"),
        ("access.token.header.type.rfc9068", "yes"),
        ("client.introspection.response.allow.jwt.claim.enabled", "1"),
        ("client.secret.expiration.time", "tomorrow"),
    ],
)
def test_a_slip_in_an_attribute_that_a_rule_reads_is_refused(name: str, text: str) -> None:
    assert f"attributes.{name}" in errors(device(**{name: text}))


def test_attributes_are_checked_after_merging_with_what_is_known() -> None:
    before = parse_client(device(), "realm-1")
    assert f"attributes.{SUBJECT}" in errors({"attributes": {SUBJECT: "("}}, base=before)


@pytest.mark.parametrize(
    "client_id", ["", " a", "a ", "a\nb", "a\0", "\ud800", "x" * 256, [], None]
)
def test_a_client_id_that_people_could_not_see_is_refused(client_id: object) -> None:
    assert "clientId" in errors({"clientId": client_id})


def test_every_wrong_field_is_told_with_the_path_of_its_client() -> None:
    found = errors(
        {"clientAuthenticatorType": "magic", "notBefore": "x", "redirectUris": "y"},
        path="clients[3]",
    )
    assert found.keys() == {
        "clients[3].clientId",
        "clients[3].clientAuthenticatorType",
        "clients[3].notBefore",
        "clients[3].redirectUris",
    }


@pytest.mark.parametrize(
    "name",
    [
        "saml.signing.private.key",
        "saml.encryption.private.key",
        "jwt.credential.private.key",
        "SAML.Signing.Private.Key",
    ],
)
def test_an_attribute_with_a_secret_is_not_stored_or_written(name: str) -> None:
    """Attributes are stored and exported in clear; Keycloak's own exports have these."""
    attributes = {name: "canary", "saml.signing.certificate": "MIIC"}
    client = parse_client({"clientId": "app", "attributes": attributes}, "realm-1")
    assert client.attributes == {"saml.signing.certificate": "MIIC"}
    stored = replace(client, attributes=attributes)
    for masked in (False, True):
        assert "canary" not in str(render_client(stored, masked=masked))


def test_the_rotated_secret_is_kept_apart_and_masked() -> None:
    name = "client.secret.rotated"
    client = parse_client({"clientId": "app", "attributes": {name: "canary"}}, "realm-1")
    assert client.rotated_secret == Secret("canary")
    assert "canary" not in repr(client)
    assert render_client(client)["attributes"] == {name: "**********"}
    assert render_client(client, masked=False)["attributes"] == {name: "canary"}
    unchanged: tuple[dict[str, Any], ...] = (
        {},
        {"attributes": {}},
        {"attributes": {name: "**********"}},
    )
    for same in unchanged:
        assert parse_client(same, "realm-1", base=client).rotated_secret == Secret("canary")
    assert parse_client({"attributes": {name: ""}}, "realm-1", base=client).rotated_secret is None
    assert "attributes.client.secret.rotated" in errors({"attributes": {name: "a\0"}}, base=client)


def test_an_attribute_that_is_empty_is_none() -> None:
    client = parse_client({"clientId": "x", "attributes": {"a": "", "b": None, "c": "1"}}, "r")
    assert client.attributes == {"c": "1"}


def test_who_names_no_scopes_inherits_those_of_the_realm() -> None:
    scopes = InheritedScopes(("own",), ("asked",))
    inheriting = parse_client({"clientId": "x"}, "r", inherited=scopes)
    choosing = parse_client({"clientId": "x", "optionalClientScopes": []}, "r", inherited=scopes)
    assert (inheriting.default_client_scopes, inheriting.optional_client_scopes) == (
        ("own",),
        ("asked",),
    )
    assert (choosing.default_client_scopes, choosing.optional_client_scopes) == ((), ())
