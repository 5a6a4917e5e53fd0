"""Whatever mappers are configured to write, documents say what the grant decided.

Every registered type of mapper is fed hostile names, values and types; the protocol claims of
access, ID and refresh tokens, of the token response, introspection and userinfo are compared with
the decision. Spec: RFC 7519 §4.1, RFC 7662 §2.2; Keycloak: 2.2
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.clients.client import Client, ProtocolMapper
from gateway.domain.keys import SecretAlgorithm, SignatureAlgorithm
from gateway.domain.ports.lookups import ClientEntry, RealmEntry, UserEntry
from gateway.domain.ports.signing import KeyRing
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import ClientSession, UserSession
from gateway.domain.users import User
from gateway.protocol.claims import CLAIM_MAPPERS
from gateway.protocol.claims.mapper import ClaimsFor, MappedClaims, split_claim_path
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS, audience_claim
from gateway.protocol.introspection import introspection_document
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.scopes import ClaimsContext, GrantedScopes, RealmScopes, resolve_claims
from gateway.protocol.tokens.issuing import Issue, SessionPart, TokenResponse, issue_tokens
from gateway.protocol.userinfo import userinfo_document
from gateway.representations.client_scopes import MAPPER_DESCRIPTIONS
from gateway.representations.components import SettingKind
from tests.support.tokens import claims_of

NOW: Final = datetime(2026, 11, 22, tzinfo=UTC)
ISSUER: Final = "https://gateway.test/realms/demo"
ABSENT: Final = object()
CONFIRMED: Final = {"x5t#S256": "thumbprint"}
RESPONSE: Final = (
    *("access_token", "expires_in", "refresh_expires_in", "refresh_token", "token_type"),
    *("id_token", "not-before-policy", "scope", "issued_token_type", "error"),
)
ANSWER: Final = ("active", "client_id", "username", "token_type", "prov", "aud_x", "reuse_id")
NAMES: Final = tuple(sorted({*RESERVED_CLAIMS, *RESPONSE, *ANSWER}))
VALUES: Final = (
    *("null", "true", "0", "9999999999", '"other"', "other", '["other"]', "[]", "{}", "", " "),
    *('{"x5t#S256":"other"}', '{"roles":["admin"]}', '["admin"]', '{"a":{"roles":["admin"]}}'),
)
JSON_TYPES: Final = ("String", "long", "int", "boolean", "JSON", "double", "")
EVERYWHERE: Final = dict.fromkeys(map(str, ClaimsFor), "true")
NOTES: Final = {
    "AUTH_TIME": "1700000000",
    "client_id": "other",
    **dict.fromkeys(NAMES, '"other"'),
}
ATTRIBUTES: Final = {**dict.fromkeys(NAMES, VALUES), "null": ("null",), "object": ('{"a":1}',)}

names = st.sampled_from(NAMES)
values = st.sampled_from(VALUES) | st.text(max_size=5)
paths = st.sampled_from(
    (
        *("${client_id}", "${client_id}.x", "${client_id}.roles", r"${client_id}\.x"),
        *("${client_id}.${client_id}.roles", "${client_id}.x.roles", "realm_access.${client_id}"),
        *("resource_access.${client_id}.roles", "resource_access.x.roles", "realm_access.roles"),
        *(r"realm\_access.roles", r"\sub", r"s\ub", ".sub", "sub.", " sub", "x", "x.y", "x.y.z"),
        *("resource_access", "resource_access.${client_id}", "resource_access.x.${client_id}"),
        *("${CLIENT_ID}", "${client_id", "$${client_id}", "${client_id}${client_id}"),
    )
)
below = st.sampled_from(("", ".x", ".roles", ".x.roles", r"\.x", ".", ".${client_id}"))
claim_names = paths | st.builds("{}{}".format, names, below) | st.text(max_size=6)
role_names = st.builds("{}.{}".format, names, values) | names | values


def _option(name: str, kind: SettingKind) -> st.SearchStrategy[str]:
    if name == "claim.name":
        return claim_names
    if name == "jsonType.label":
        return st.sampled_from(JSON_TYPES)
    if kind is SettingKind.FLAG:
        return st.sampled_from(("true", "false", ""))
    if "role" in name and "Mapping" not in name:
        return role_names
    return names | values | st.sampled_from(("", "username", "null", "object", "AUTH_TIME"))


def mappers_of(mapper_type: str) -> st.SearchStrategy[ProtocolMapper]:
    """Return mappers of a type with any of its options, in every kind of document."""
    properties = MAPPER_DESCRIPTIONS[mapper_type].properties
    own = {one.name: _option(one.name, one.kind) for one in properties}
    more = {
        "claim.name": claim_names,
        "jsonType.label": st.sampled_from(JSON_TYPES),
        "multivalued": st.sampled_from(("true", "false")),
    }
    return st.fixed_dictionaries(own, optional={k: v for k, v in more.items() if k not in own}).map(
        lambda config: ProtocolMapper("id", "m", mapper_type, {**EVERYWHERE, **config})
    )


role_attacks = st.lists(
    st.sampled_from(("oidc-hardcoded-role-mapper", "oidc-usermodel-client-role-mapper")).flatmap(
        mappers_of
    ),
    max_size=4,
)


@dataclass(frozen=True, slots=True)
class Decided:
    """What the grant decided, and everything that was made of it."""

    mappers: Sequence[ProtocolMapper]
    client: Client
    user: User
    part: SessionPart | None
    context: ClaimsContext
    response: TokenResponse

    def has(self, mapper_type: str) -> bool:
        """Return whether a mapper of the type is configured."""
        return any(mapper.mapper_type == mapper_type for mapper in self.mappers)

    def audiences(self, *, resolved: bool) -> tuple[str, ...]:
        """Return what audience mappers name, and the clients that roles lead to."""
        found = [
            mapper.config.get("included.client.audience")
            or mapper.config.get("included.custom.audience")
            for mapper in self.mappers
            if mapper.mapper_type == "oidc-audience-mapper"
        ]
        if resolved and self.has("oidc-audience-resolve-mapper"):
            held = [name for name, _ in self.context.subject.roles.clients]
            found += [name for name in held if name != self.client.client_id]
        return tuple(dict.fromkeys(one for one in found if one))


@cache
def ring() -> KeyRing:
    factory = PyJwtKeyFactory()
    algorithms = (SignatureAlgorithm.ES256, SecretAlgorithm.HS512)
    keys = tuple(factory.generate("demo", "demo", one, NOW) for one in algorithms)
    return factory.ring(keys)


def _realm() -> RealmEntry:
    realm = Realm("demo", "demo", default_signature_algorithm=SignatureAlgorithm.ES256)
    return RealmEntry(realm, ring())


def _part(user: User, client: Client) -> SessionPart:
    part = ClientSession(client.id, NOW, NOW)
    session = UserSession(
        *("session-1", "demo", user.id, user.username, "192.0.2.1", NOW, NOW),
        clients={client.id: part},
        notes=NOTES,
    )
    return SessionPart(session, part, refresh_id="refresh-1", family="family-1")


def decide(mappers: Sequence[ProtocolMapper], client_id: str, *, transient: bool) -> Decided:
    """Issue tokens through a client whose mappers are these."""
    client = Client(
        *("client-1", "demo", client_id),
        allowed_origins=("https://app.test",),
        protocol_mappers=tuple(mappers),
    )
    user = User(
        *("user-1", "demo", "ann"),
        enabled=True,
        created_at=NOW,
        first_name="sub",
        email="aud",
        attributes=ATTRIBUTES,
    )
    roles = EffectiveRoles(
        ("admin", "null", "sub"), tuple((name, ("null", "x", '{"a":1}')) for name in NAMES[:6])
    )
    granted = GrantedScopes(RealmScopes(()).chosen((), ()), openid=True)
    part = None if transient else _part(user, client)
    context = resolve_claims(
        ClientEntry(client, None, EffectiveRoles()),
        UserEntry(user, roles, groups=("/sub", "/aud/x")),
        granted,
        session=part.session if part else None,
        notes=NOTES,
    )
    request = ProtocolRequest(
        *(_realm(), ISSUER, Parameters(), None, None, "192.0.2.1"), secure=True, now=NOW
    )
    response = issue_tokens(request, Issue(context, "ro", part))
    return Decided(mappers, client, user, part, context, response)


def _is(claims: Mapping[str, Any], **expected: object) -> None:
    for name, value in expected.items():
        assert claims.get(name, ABSENT) == value, name


def _check_common(claims: Mapping[str, Any], decided: Decided) -> None:
    """Check what no kind of document takes from a free claim."""
    session_id = decided.part.session.id if decided.part else None
    choices: dict[str, tuple[object, ...]] = {
        "acr": ("1",),
        "amr": ([],),
        "auth_time": (1700000000,),
        "session_state": (session_id,),
        "allowed-origins": (["https://app.test"],),
    }
    for name, (value,) in choices.items():
        assert claims.get(name, value) == value, name
    for name in ("nbf", "nonce", "c_hash", "s_hash", "authorization", "act", "may_act", "events"):
        assert name not in claims
    assert claims.get("client_id", decided.client.client_id) == decided.client.client_id
    _check_roles(claims, decided)


def _check_roles(claims: Mapping[str, Any], decided: Decided) -> None:
    """Check that lists of roles are there only where a mapper of roles names them itself."""
    named = {
        split_claim_path(mapper.config["claim.name"])[:1]
        for mapper in decided.mappers
        if mapper.mapper_type.startswith("oidc-usermodel-")
        and mapper.mapper_type.endswith("-role-mapper")
        and mapper.config.get("multivalued") == "true"
    }
    of_realm = claims.get("realm_access")
    of_clients = claims.get("resource_access")
    assert of_realm is None or ("realm_access",) in named
    assert of_clients is None or ("resource_access",) in named
    assert isinstance(of_clients, dict | None)
    for roles in (of_realm, *(of_clients or {}).values()):
        if roles is not None:
            assert set(roles) == {"roles"}
            assert all(isinstance(role, str) for role in roles["roles"])


def _check_access(decided: Decided) -> Mapping[str, Any]:
    claims = claims_of(decided.response.access_token)
    included = decided.part is None or decided.has("oidc-sub-mapper")
    expected = audience_claim(decided.audiences(resolved=True))
    _is(
        claims,
        iss=ISSUER,
        aud=ABSENT if expected is None else expected,
        sub=decided.context.subject.identifier if included else ABSENT,
        exp=int((NOW + timedelta(seconds=decided.response.expires_in)).timestamp()),
        iat=int(NOW.timestamp()),
        jti=decided.response.token_id,
        typ="Bearer",
        azp=decided.client.client_id,
        sid=decided.part.session.id if decided.part else ABSENT,
        realmgate_client_session=ABSENT,
        realmgate_exchanged_from=ABSENT,
        realmgate_exchanged_tokens=ABSENT,
        scope="openid",
        cnf=ABSENT,
        at_hash=ABSENT,
    )
    assert decided.response.expires_in == 300
    assert decided.response.token_id.startswith("onrtro:" if decided.part else "trrtro:")
    _check_common(claims, decided)
    return claims


def _check_id(decided: Decided, part: SessionPart) -> None:
    assert decided.response.id_token is not None
    claims = claims_of(decided.response.id_token)
    client_id = decided.client.client_id
    _is(
        claims,
        iss=ISSUER,
        aud=audience_claim(tuple(dict.fromkeys((client_id, *decided.audiences(resolved=False))))),
        sub=decided.context.subject.identifier,
        iat=int(NOW.timestamp()),
        typ="ID",
        azp=client_id,
        sid=part.session.id,
        scope=ABSENT,
        cnf=ABSENT,
    )
    assert len(claims["at_hash"]) == 22
    assert len(claims["jti"]) == 36
    assert claims["exp"] == claims["iat"] + 300
    _check_common(claims, decided)


def _check_refresh(decided: Decided, part: SessionPart) -> Mapping[str, Any]:
    assert decided.response.refresh_token is not None
    claims = claims_of(decided.response.refresh_token)
    expected: dict[str, object] = {
        "exp": claims["iat"] + decided.response.refresh_expires_in,
        "iat": int(NOW.timestamp()),
        "jti": part.refresh_id,
        "iss": ISSUER,
        "aud": ISSUER,
        "sub": decided.context.subject.identifier,
        "typ": "Refresh",
        "azp": decided.client.client_id,
        "sid": part.session.id,
        "scope": "openid",
        "prov": "default",
        "reuse_id": part.family,
        "realmgate_client_session": part.generation,
    }
    audiences = audience_claim(decided.audiences(resolved=True))
    assert claims == (expected if audiences is None else {**expected, "aud_x": audiences})
    return claims


def _check_introspection(decided: Decided, token: Mapping[str, Any], kind: str) -> None:
    mapped = decided.context.map_claims(ClaimsFor.INTROSPECTION)
    answer = introspection_document({**token, "cnf": CONFIRMED}, decided.context, mapped, kind)
    own = token.get("aud", [])
    audiences = (*(own if isinstance(own, list) else [own]), *decided.audiences(resolved=True))
    expected = audience_claim(tuple(dict.fromkeys(audiences)))
    included = "sub" in token or decided.has("oidc-sub-mapper")
    _is(
        answer,
        **{name: token.get(name, ABSENT) for name in ("exp", "iat", "jti", "iss", "typ", "azp")},
        sid=token.get("sid", ABSENT),
        scope=token["scope"],
        aud=ABSENT if expected is None else expected,
        sub=decided.context.subject.identifier if included else ABSENT,
        cnf=CONFIRMED,
        client_id=decided.client.client_id,
        username="ann",
        token_type=kind,
        active=True,
        prov=ABSENT,
        aud_x=ABSENT,
        reuse_id=ABSENT,
    )
    assert list(answer)[-4:] == ["client_id", "username", "token_type", "active"]
    _check_common(answer, decided)
    json.dumps(answer)


def _check_userinfo(decided: Decided) -> None:
    claims = userinfo_document(decided.context)
    _is(claims, sub=decided.context.subject.identifier)
    for name in ("iss", "aud", "exp", "iat", "jti", "typ", "azp", "sid", "scope", "cnf"):
        assert name not in claims
    _check_common(claims, decided)
    json.dumps(claims)


def _check_response(decided: Decided) -> None:
    response, document = decided.response, decided.response.document()
    _is(
        document,
        access_token=response.access_token,
        expires_in=300,
        refresh_token=response.refresh_token or ABSENT,
        refresh_expires_in=response.refresh_expires_in,
        token_type="Bearer",
        id_token=response.id_token or ABSENT,
        scope="openid",
        session_state=response.session_state or ABSENT,
        issued_token_type=ABSENT,
        error=ABSENT,
    )
    assert document["not-before-policy"] == 0
    for name in RESERVED_CLAIMS - {"scope", "session_state"}:
        assert name not in document


@pytest.mark.parametrize("mapper_type", sorted(CLAIM_MAPPERS))
@settings(max_examples=25)
@given(data=st.data())
def test_no_mapper_changes_what_the_grant_decided(mapper_type: str, data: st.DataObject) -> None:
    mappers = data.draw(st.lists(mappers_of(mapper_type), min_size=1, max_size=3), "mappers")
    mappers += data.draw(role_attacks, "mappers of roles")
    client_id = data.draw(st.just("app") | names, "client")
    decided = decide(mappers, client_id, transient=data.draw(st.booleans(), "transient"))
    access = _check_access(decided)
    _check_introspection(decided, access, "Bearer")
    _check_userinfo(decided)
    _check_response(decided)
    if decided.part is not None:
        _check_id(decided, decided.part)
        _check_introspection(decided, _check_refresh(decided, decided.part), "Refresh")


@pytest.mark.parametrize("name", sorted(RESERVED_CLAIMS))
def test_a_path_is_checked_when_a_claim_is_added(name: str) -> None:
    """With a document that reserves no name: only the check of the path is left."""
    mapped = MappedClaims()
    for path in ((name,), (name, "x"), (name, "roles"), (name, "x", "roles")):
        mapped.put_claim(path, "other")
        mapped.put_among(path, ["other"])
    mapped.put_claim(("x", name), "free")
    assert mapped.document({}, reserved=()) == {"x": {name: "free"}}


def test_a_free_claim_is_written_beside_the_decided_ones() -> None:
    config = {**EVERYWHERE, "claim.name": "team.name", "claim.value": "blue"}
    mapper = ProtocolMapper("id", "m", "oidc-hardcoded-claim-mapper", config)
    decided = decide([mapper], "app", transient=False)
    assert claims_of(decided.response.access_token)["team"] == {"name": "blue"}
    assert userinfo_document(decided.context) == {"sub": "user-1", "team": {"name": "blue"}}
    assert decided.response.document()["team"] == {"name": "blue"}


def test_a_claim_named_client_id_holds_the_client_of_the_token() -> None:
    """Mappers of service accounts ask for it; RFC 9068 §2.2 says which client it is."""
    config = {**EVERYWHERE, "claim.name": "client_id", "claim.value": "other"}
    mapper = ProtocolMapper("id", "m", "oidc-hardcoded-claim-mapper", config)
    decided = decide([mapper], "app", transient=True)
    assert claims_of(decided.response.access_token)["client_id"] == "app"
