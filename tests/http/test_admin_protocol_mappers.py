"""Protocol mappers over the admin API: what changes is in the next token. Keycloak: 7.3."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from gateway.admin.access.rights import AdminRole
from tests.support.administration import Administration
from tests.support.client_documents import serving_documents
from tests.support.made_realms import told
from tests.support.recorded_changes import recorded_changes
from tests.support.scoped_realm import ScopedRealm, claims_of, mapper

UNKNOWN = "0f5cbf5e-0000-4000-8000-000000000000"
OWNERS = ("clients", "client-scopes")
Owner = tuple[ScopedRealm, str]
_NO_LISTS: list[Any] = [{}, [1], ["x"], [[]]]
_NO_TYPES: list[Any] = ["nope", "", None, 1]


@pytest.fixture(params=OWNERS, name="owned")
def owner_in_the_tokens_of_app(scoped: ScopedRealm, request: pytest.FixtureRequest) -> Owner:
    """Return the URL of the mappers of the client `app`, or of a client scope that it has."""
    if request.param == "clients":
        return scoped, f"clients/{scoped.client('app')}/protocol-mappers"
    return scoped, f"client-scopes/{scoped.scope('profile')}/protocol-mappers"


def test_the_next_token_follows_each_change_of_a_mapper(owned: Owner) -> None:
    scoped, url = owned
    mapper_id = scoped.do("POST", f"{url}/models", mapper("m", "c"))
    assert scoped.claims()["c"] == "x"
    changed = {"claim.name": "d.e", "claim.value": "7", "jsonType.label": "int"}
    document = mapper("renamed", "d.e", "7") | {"config": {**changed, "access.token.claim": "true"}}
    scoped.do("PUT", f"{url}/models/{mapper_id}", document | {"protocol": "saml"})
    claims = scoped.claims()
    assert ("c" in claims, claims["d"]) == (False, {"e": 7})
    found = scoped.get(f"{url}/models/{mapper_id}")
    assert found == {
        "id": mapper_id,
        "name": "m",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-hardcoded-claim-mapper",
        "consentRequired": False,
        "config": {
            **changed,
            "access.token.claim": "true",
            "introspection.token.claim": "true",
        },
    }
    assert found in scoped.get(f"{url}/models")
    scoped.do("DELETE", f"{url}/models/{mapper_id}")
    assert "d" not in scoped.claims()
    assert told(scoped.ask("GET", f"{url}/models/{mapper_id}")) == (404, "Model not found")


def test_a_fetched_mapper_put_back_changes_nothing(owned: Owner) -> None:
    scoped, url = owned
    mapper_id = scoped.do("POST", f"{url}/models", mapper("m", "c", z="1", a="2"))
    before = scoped.ask("GET", f"{url}/models/{mapper_id}")
    scoped.do("PUT", f"{url}/models/{mapper_id}", before.json())
    after = scoped.ask("GET", f"{url}/models/{mapper_id}")
    assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])


def test_every_mapper_of_the_built_in_scopes_can_be_put_back(scoped: ScopedRealm) -> None:
    for scope in scoped.get("client-scopes"):
        for one in scope.get("protocolMappers", ()):
            url = f"client-scopes/{scope['id']}/protocol-mappers/models/{one['id']}"
            scoped.do("PUT", url, one)
            after = scoped.get(url)
            assert one["config"].items() <= after["config"].items()
            assert after == {**one, "config": after["config"]}


def test_several_mappers_are_added_all_or_none(owned: Owner) -> None:
    scoped, url = owned
    added = [mapper("one", "c1"), mapper("two", "c2")]
    response = scoped.ask("POST", f"{url}/add-models", added)
    assert (response.status_code, response.content) == (204, b"")
    claims = scoped.claims()
    assert (claims["c1"], claims["c2"]) == ("x", "x")
    before = scoped.get(f"{url}/models")
    taken = scoped.ask("POST", f"{url}/add-models", [mapper("three", "c3"), mapper("one", "c4")])
    assert (taken.status_code, taken.json()) == (
        409,
        {
            "error": "conflict",
            "error_description": "Protocol mapper name must be unique per protocol",
        },
    )
    unknown = mapper("four", "c5") | {"protocolMapper": "nope"}
    wrong = scoped.ask("POST", f"{url}/add-models", [mapper("three", "c3"), unknown])
    assert told(wrong) == (404, "ProtocolMapper provider not found")
    for shape in _NO_LISTS:
        assert scoped.ask("POST", f"{url}/add-models", shape).status_code == 400
    assert scoped.ask("POST", f"{url}/add-models", []).status_code == 204
    assert scoped.get(f"{url}/models") == before


def test_mappers_are_listed_by_protocol(scoped: ScopedRealm) -> None:
    url = f"client-scopes/{scoped.scope('role_list')}/protocol-mappers"
    assert scoped.names(f"{url}/protocol/saml") == ["role list"]
    assert scoped.get(f"{url}/protocol/openid-connect") == []
    assert scoped.get(f"{url}/protocol/zz") == []
    scoped.do("POST", f"{url}/models", mapper("role list", "c"))
    assert scoped.names(f"{url}/models") == ["role list", "role list"]


def test_a_name_or_an_id_that_is_taken_is_refused(owned: Owner) -> None:
    scoped, url = owned
    mapper_id = scoped.do("POST", f"{url}/models", mapper("m", "c") | {"id": "my-id"})
    assert mapper_id == "my-id"
    for document in (mapper("m", "d"), mapper("n", "d") | {"id": "my-id"}):
        assert told(scoped.ask("POST", f"{url}/models", document)) == (
            409,
            "Protocol mapper exists with same name",
        )


def test_of_two_who_add_the_same_mapper_at_once_one_does(owned: Owner) -> None:
    scoped, url = owned

    def add(_: int) -> int:
        return scoped.ask("POST", f"{url}/models", mapper("twice", "c")).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(add, range(4))) == [201, 409, 409, 409]
    assert scoped.names(f"{url}/models").count("twice") == 1


def test_a_mapper_of_an_unknown_type_is_not_found(owned: Owner) -> None:
    scoped, url = owned
    mapper_id = scoped.do("POST", f"{url}/models", mapper("m", "c"))
    for kind in _NO_TYPES:
        document = mapper("n", "c") | {"protocolMapper": kind}
        if kind is None:
            del document["protocolMapper"]
        for method, at in (("POST", "models"), ("PUT", f"models/{mapper_id}")):
            response = scoped.ask(method, f"{url}/{at}", document)
            assert told(response) == (404, "ProtocolMapper provider not found")


@pytest.mark.parametrize(
    ("config", "kind", "said"),
    [
        *(
            ({"claim.name": name, "claim.value": "x"}, "oidc-hardcoded-claim-mapper", name)
            for name in ("sub", "aud", "scope", "cnf.x5t", "realm_access.roles", r"a\zp")
        ),
        (
            {"claim.name": "exp", "user.attribute": "x"},
            "oidc-usermodel-attribute-mapper",
            "config.claim.name",
        ),
        (
            {"claim.name": "auth_time", "user.session.note": "clientHost"},
            "oidc-usersessionmodel-note-mapper",
            "config.claim.name",
        ),
        (
            {"claim.name": "realm_access.other", "multivalued": "true"},
            "oidc-usermodel-realm-role-mapper",
            "config.claim.name",
        ),
        ({}, "oidc-hardcoded-role-mapper", "config.role"),
        ({"role": "client."}, "oidc-hardcoded-role-mapper", "config.role"),
        ({"role": "a"}, "oidc-role-name-mapper", "config.new.role.name"),
        (
            {"claim.name": "c", "claim.value": "abc", "jsonType.label": "int"},
            "oidc-hardcoded-claim-mapper",
            "config.claim.value",
        ),
        (
            {"claim.name": "c", "claim.value": "{", "jsonType.label": "JSON"},
            "oidc-hardcoded-claim-mapper",
            "config.claim.value",
        ),
        ({}, "oidc-sha256-pairwise-sub-mapper", "subjects differ"),
    ],
)
def test_a_mapper_that_cannot_act_is_refused_with_its_reason(
    scoped: ScopedRealm, config: dict[str, str], kind: str, said: str
) -> None:
    url = f"client-scopes/{scoped.scope('phone')}/protocol-mappers/models"
    before = scoped.get(url)
    document = mapper("m", "c") | {"protocolMapper": kind, "config": config}
    response = scoped.ask("POST", url, document)
    assert response.status_code == 400
    assert said in response.json()["errorMessage"] or r"a\zp" in said
    assert scoped.get(url) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "n" * 256},
        {"name": []},
        {"config": []},
        {"config": {"a": [1]}},
        {"config": {"a": "\0"}},
        {"protocol": {}},
        {"id": "a/b"},
        {"consentRequired": "perhaps"},
    ],
)
def test_wrong_fields_are_refused_and_nothing_is_written(
    scoped: ScopedRealm, wrong: dict[str, Any]
) -> None:
    url = f"client-scopes/{scoped.scope('phone')}/protocol-mappers/models"
    before = scoped.get(url)
    assert scoped.ask("POST", url, mapper("m", "c") | wrong).status_code == 400
    assert scoped.get(url) == before


def test_an_unknown_field_is_told_in_keycloaks_words(owned: Owner) -> None:
    scoped, url = owned
    response = scoped.ask("POST", f"{url}/models", mapper("m", "c") | {"foo": 1})
    status, text = told(response)
    assert status == 400
    assert text.startswith(
        'Invalid json representation for ProtocolMapperRepresentation. Unrecognized field "foo"'
    )


def test_more_mappers_than_one_may_have_are_refused(owned: Owner) -> None:
    scoped, url = owned
    many = [mapper(f"m{number}", f"c{number}") for number in range(201)]
    response = scoped.ask("POST", f"{url}/add-models", many)
    assert response.status_code == 400
    assert "m0" not in scoped.names(f"{url}/models")


def test_mappers_are_counted_before_they_are_compared(owned: Owner) -> None:
    scoped, url = owned
    response = scoped.ask("POST", f"{url}/add-models", [mapper("same", "c")] * 201)
    assert response.status_code == 400
    assert response.json()["error_description"] == "At most 200 protocol mappers"


def test_unknown_owners_and_mappers_are_told_in_keycloaks_words(owned: Owner) -> None:
    scoped, url = owned
    owner, _, rest = url.partition("/")
    texts = {"clients": "Could not find client", "client-scopes": "Could not find client scope"}
    unknown = f"{owner}/{UNKNOWN}/{rest.partition('/')[2]}"
    for method, at, sent in (
        ("GET", "models", None),
        ("POST", "models", mapper("m", "c")),
        ("POST", "add-models", [mapper("m", "c")]),
        ("GET", "protocol/saml", None),
        ("GET", f"models/{UNKNOWN}", None),
        ("PUT", f"models/{UNKNOWN}", mapper("m", "c")),
        ("DELETE", f"models/{UNKNOWN}", None),
    ):
        assert told(scoped.ask(method, f"{unknown}/{at}", sent)) == (404, texts[owner])
        if UNKNOWN in at:
            assert told(scoped.ask(method, f"{url}/{at}", sent)) == (404, "Model not found")


def test_nothing_of_another_realm_is_reached(owned: Owner, administration: Administration) -> None:
    scoped, url = owned
    mapper_id = scoped.do("POST", f"{url}/models", mapper("m", "c"))
    for method, sent in (("GET", None), ("PUT", mapper("m", "d")), ("DELETE", None)):
        at = f"acme/{url}/models/{mapper_id}"
        assert administration.ask(method, at, document=sent).status_code == 404
    assert scoped.claims()["c"] == "x"


def test_a_change_may_say_what_it_knew(owned: Owner) -> None:
    scoped, url = owned
    one = f"{url}/models/{scoped.do('POST', f'{url}/models', mapper('m', 'c'))}"
    known = {"If-Match": scoped.ask("GET", one).headers["etag"]}
    assert scoped.ask("PUT", one, mapper("m", "d"), headers=known).status_code == 204
    assert scoped.ask("PUT", one, mapper("m", "e"), headers=known).status_code == 412
    assert scoped.ask("DELETE", one, headers=known).status_code == 412
    assert scoped.claims()["d"] == "x"


def test_mapper_changes_are_recorded_without_claim_values(owned: Owner) -> None:
    scoped, url = owned
    scoped.ask("PUT", "", {"adminEventsEnabled": True, "adminEventsDetailsEnabled": True})
    mapper_id = scoped.do("POST", f"{url}/models", mapper("m", "c", "a-canary"))
    scoped.do("PUT", f"{url}/models/{mapper_id}", mapper("m", "c", "a-canary"))
    scoped.do("DELETE", f"{url}/models/{mapper_id}")
    scoped.do("POST", f"{url}/add-models", [mapper("n", "c", "a-canary")])
    recorded = recorded_changes(scoped.administration, scoped.name)
    assert [event[:3] for event in recorded if event[1] != "REALM"] == [
        ("CREATE", "PROTOCOL_MAPPER", f"{url}/models/{mapper_id}"),
        ("UPDATE", "PROTOCOL_MAPPER", f"{url}/models/{mapper_id}"),
        ("DELETE", "PROTOCOL_MAPPER", f"{url}/models/{mapper_id}"),
        ("CREATE", "PROTOCOL_MAPPER", f"{url}/add-models"),
    ]
    assert not any("a-canary" in (event[3] or "") for event in recorded)


@pytest.mark.parametrize("role", [*AdminRole, "nobody"])
def test_only_who_manages_clients_changes_mappers(
    administration: Administration, role: str
) -> None:
    scope_id = administration.get("client-scopes")[0]["id"]
    url = f"acme/client-scopes/{scope_id}/protocol-mappers"
    token = administration.token(role, "acme")
    seeing = role in {AdminRole.VIEW_CLIENTS, AdminRole.MANAGE_CLIENTS}
    listed = administration.ask("GET", f"{url}/models", token)
    assert listed.status_code == (200 if seeing else 403)
    added = administration.ask("POST", f"{url}/add-models", token, document=[])
    assert added.status_code == (204 if role == AdminRole.MANAGE_CLIENTS else 403)


def test_options_say_where_a_claim_is_told(scoped: ScopedRealm) -> None:
    """Keycloak 26.7 told each of these claims in these places."""
    url = f"clients/{scoped.client('app')}/protocol-mappers/add-models"

    def only(name: str, **options: str) -> dict[str, Any]:
        spelled = {option.replace("_", "."): said for option, said in options.items()}
        config = {"claim.name": name, "claim.value": "x", **spelled}
        return mapper(name, name) | {"config": config}

    audience = {"included.client.audience": "service", "access.token.claim": "true"}
    scoped.do(
        "POST",
        url,
        [
            mapper("aud", "") | {"protocolMapper": "oidc-audience-mapper", "config": audience},
            only("c_none"),
            only("c_a", access_token_claim="true"),
            only("c_i", id_token_claim="true"),
            only("c_u", userinfo_token_claim="true"),
            only("c_n", introspection_token_claim="true"),
            only("c_l", lightweight_claim="true"),
            only("c_a_not_n", access_token_claim="true", introspection_token_claim="false"),
            only("c_i_not_u", id_token_claim="true", userinfo_token_claim="false"),
            only("c_r", access_tokenResponse_claim="true"),
        ],
    )

    def mine(claims: dict[str, Any]) -> set[str]:
        return {name for name in claims if name.startswith("c_")}

    tokens = scoped.tokens("openid")
    access = tokens["access_token"]
    assert mine(claims_of(access)) == {"c_a", "c_a_not_n"}
    assert mine(claims_of(tokens["id_token"])) == {"c_i", "c_i_not_u"}
    assert mine(scoped.userinfo(access)) == {"c_i", "c_u"}
    assert mine(scoped.introspected(access)) == {"c_a", "c_n"}
    assert mine(tokens) == {"c_r"}


def test_introspection_tells_what_mappers_say_now(scoped: ScopedRealm) -> None:
    url = f"clients/{scoped.client('app')}/protocol-mappers"
    audience = {"included.client.audience": "service", "access.token.claim": "true"}
    scoped.do(
        "POST",
        f"{url}/models",
        mapper("aud", "") | {"protocolMapper": "oidc-audience-mapper", "config": audience},
    )
    token = scoped.tokens()["access_token"]
    before = scoped.introspected(token)
    scoped.do("POST", f"{url}/models", mapper("later", "c"))
    after = scoped.introspected(token)
    assert after == {**before, "c": "x"}
    claims = claims_of(token)
    for name in ("exp", "iat", "jti", "iss", "aud", "sub", "typ", "azp", "sid", "scope"):
        assert after[name] == claims[name]


def test_a_token_is_told_of_to_nobody_whom_it_does_not_name(scoped: ScopedRealm) -> None:
    """Keycloak: an audience that mappers would name at the introspection alone is none."""
    config = {"included.client.audience": "service", "introspection.token.claim": "true"}
    url = f"clients/{scoped.client('app')}/protocol-mappers/models"
    scoped.do(
        "POST",
        url,
        mapper("aud", "") | {"protocolMapper": "oidc-audience-mapper", "config": config},
    )
    assert scoped.introspected(scoped.tokens()["access_token"]) == {"active": False}


def test_users_and_groups_give_their_attributes_to_claims(scoped: ScopedRealm) -> None:
    url = f"clients/{scoped.client('app')}/protocol-mappers/add-models"

    def attribute(name: str, **config: str) -> dict[str, Any]:
        options = {"user.attribute": name, "claim.name": f"by.{name}", "access.token.claim": "true"}
        kind = {"protocolMapper": "oidc-usermodel-attribute-mapper"}
        return mapper(name, "") | kind | {"config": {**options, **config}}

    scoped.do(
        "POST",
        url,
        [
            attribute("desk", **{"jsonType.label": "int"}),
            attribute("team", multivalued="true"),
            attribute("firstName"),
        ],
    )
    assert scoped.claims()["by"] == {"desk": 7, "team": ["blue"], "firstName": "Ann"}


def test_roles_are_told_as_mappers_change_them(scoped: ScopedRealm) -> None:
    url = f"clients/{scoped.client('app')}/protocol-mappers/add-models"
    added = mapper("add", "") | {"protocolMapper": "oidc-hardcoded-role-mapper"}
    renamed = mapper("rename", "") | {"protocolMapper": "oidc-role-name-mapper"}
    scoped.do(
        "POST",
        url,
        [
            added | {"config": {"role": "ghost.r"}},
            renamed | {"config": {"role": "whole", "new.role.name": "other.w"}},
        ],
    )
    claims = scoped.claims()
    assert "whole" not in claims["realm_access"]["roles"]
    assert claims["resource_access"]["other"]["roles"] == ["o1", "w"]
    assert claims["resource_access"]["ghost"]["roles"] == ["r"]
    assert {"ghost", "other"} <= set(claims["aud"])


_UNAVAILABLE = "Failed to get redirect URIs from the Sector Identifier URI."
_MISMATCH = (
    "Client redirect URIs does not match redirect URIs fetched from the Sector Identifier URI."
)


def _pairwise(address: str) -> dict[str, Any]:
    return {
        "name": "pairwise",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-sha256-pairwise-sub-mapper",
        "config": {"sectorIdentifierUri": address},
    }


def _texts(response: httpx2.Response) -> tuple[int, str | None]:
    return response.status_code, response.json().get("error_description")


def test_the_sector_of_a_pairwise_mapper_lists_the_redirect_uris(scoped: ScopedRealm) -> None:
    """OpenID Connect Core §8.1; a client that is not listed cannot join the sector of others.

    The good document passes the check of the list: what is refused then is its address, which is
    not https.
    """
    uris = ["https://a.test/cb", "https://b.test/cb"]
    client = {"clientId": "sectored", "redirectUris": [uris[0], "/cb"], "rootUrl": "https://b.test"}
    client_id = scoped.do("POST", "clients", client)
    models = f"clients/{client_id}/protocol-mappers/models"
    mapper_id = scoped.do("POST", models, _pairwise(""))
    documents = {"good": json.dumps(uris), "few": json.dumps(uris[:1]), "text": '"x"', "bad": "<"}
    expected = {"few": _MISMATCH, "text": _UNAVAILABLE, "bad": _UNAVAILABLE, "none": _UNAVAILABLE}
    with serving_documents() as served:
        served.documents = {f"/{name}": text.encode() for name, text in documents.items()}
        for name, text in expected.items():
            sent = _pairwise(f"{served.url}/{name}")
            changed = {"clientId": "sectored", "protocolMappers": [sent]}
            other = {**client, "clientId": "other", "protocolMappers": [sent]}
            spelled = {**other, "protocol_mappers": [sent]}
            del spelled["protocolMappers"]
            again = {**client, "protocolMappers": [sent]}
            overwritten = {"clients": [again], "ifResourceExists": "OVERWRITE"}
            for method, url, document in (
                ("POST", models, {**sent, "name": "second"}),
                ("POST", f"clients/{client_id}/protocol-mappers/add-models", [sent]),
                ("PUT", f"{models}/{mapper_id}", {**sent, "id": mapper_id}),
                ("POST", "clients", other),
                ("PUT", f"clients/{client_id}", changed),
                ("POST", "clients", spelled),
                ("PUT", f"clients/{client_id}", {"protocol_mappers": [sent]}),
                ("POST", "partialImport", {"clients": [other]}),
                ("POST", "partialImport", {"clients": [spelled]}),
                ("POST", "partialImport", overwritten),
            ):
                assert _texts(scoped.ask(method, url, document)) == (400, text), (method, url)
        good = _pairwise(f"{served.url}/good")
        answer = scoped.ask("PUT", f"{models}/{mapper_id}", good)
    assert (answer.status_code, "https" in answer.text) == (400, True)
    (kept,) = scoped.get(models)
    assert not kept["config"].get("sectorIdentifierUri")


def test_a_partial_import_fetches_the_few_sectors_it_needs(scoped: ScopedRealm) -> None:
    """An address is fetched once; what is skipped or stays as it is, is not fetched."""
    uris = ["https://a.test/cb"]
    with serving_documents() as served:
        served.documents = {f"/{place}": json.dumps(uris).encode() for place in range(12)}
        clients = [
            {
                "clientId": f"sector-{place}",
                "redirectUris": uris,
                "protocolMappers": [_pairwise(f"{served.url}/{place % 11}")],
            }
            for place in range(22)
        ]
        asked = scoped.ask("POST", "partialImport", {"clients": clients})
        assert (asked.status_code, "sector" in asked.text) == (400, True)
        assert not served.asked
        for place, policy in ((0, "FAIL"), (0, "SKIP"), (0, "OVERWRITE")):
            few = [{**one, "protocolMappers": []} for one in clients[:2]]
            document = {"clients": few, "ifResourceExists": policy}
            assert scoped.ask("POST", "partialImport", document).is_success, (place, policy)
        assert not served.asked
        skipped = {"clients": clients[:2], "ifResourceExists": "SKIP"}
        assert scoped.ask("POST", "partialImport", skipped).is_success
        assert not served.asked
        scoped.ask("POST", "partialImport", {"clients": [*clients[2:4], *clients[13:15]]})
        assert sorted(served.asked) == ["/2", "/3"]
