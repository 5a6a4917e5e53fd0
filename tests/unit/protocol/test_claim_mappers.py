"""Each protocol mapper puts its claim into a token, and none where it has nothing to say.

What is expected of a user with these fields is what Keycloak 26.7 put into its tokens.
Spec: RFC 7519 §4.1.3; Keycloak: protocol mappers
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.domain.certificate_names import DEVICE_CLAIM
from gateway.domain.clients.client import Client, ProtocolMapper
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.protocol.claims import CLAIM_MAPPERS, map_claims, mapped_roles, prepare_plan
from gateway.protocol.claims.mapper import ClaimMapper, ClaimsFor
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS, audiences_of
from gateway.protocol.claims.subject import TokenSubject
from tests.support.mapped_documents import mapped_document

MADE = datetime(2026, 11, 20, 17, 0, 56, 851000, tzinfo=UTC)
ANN = User(
    *("ed79a6e5", "demo", "ann"),
    enabled=True,
    created_at=MADE,
    email="ann@x.test",
    email_verified=True,
    first_name="Ann",
    last_name="Bee",
    attributes={
        "one": ("1",),
        "many": ("a", "b"),
        "nums": ("1", "2"),
        "num": ("42",),
        "yes": ("true",),
        "no": ("nope",),
        "js": ('{"a":[1,2]}',),
        "badjs": ("{x",),
        "jss": ('{"a":1}', '{"b":2}'),
        "notnum": ("abc",),
        "mixed": ("1", "abc"),
        "big": ("99999999999",),
        "empty": (),
        "team": ("own",),
        "street": ("Main 1",),
        "locality": ("Town",),
        "country": ("NL",),
        "updatedAt": ("1700000000",),
    },
)
APP = Client("client-1", "demo", "app", allowed_origins=("https://app.test",))
ROLES = EffectiveRoles(
    ("admin-r", "part-a"),
    (("app", ("own",)), ("other", ("o1",)), ("svc.dot", ("r1", "r2"))),
)
FULL = TokenSubject(
    user=ANN,
    client=APP,
    identifier=ANN.id,
    roles=ROLES,
    session_notes={"clientAddress": "192.0.2.7", "AUTH_TIME": "1700000001"},
    acr="1",
    groups=("/g1/sub",),
    group_attributes=(
        {"team": ("green",), "both": ("near",)},
        {"team": ("blue", "own"), "gonly": ("x",), "both": ("far",)},
    ),
    session_id="session-1",
    requested_claims='{"id_token":{"name":{"essential":true},"x":{"value":"y"}},'
    '"userinfo":{"name":{"essential":true}}}',
)
BARE = TokenSubject(
    user=User("user-2", "demo", "bob", enabled=True, created_at=MADE),
    client=Client("client-2", "demo", "plain"),
    identifier="user-2",
    roles=EffectiveRoles(),
    session_notes={},
    acr="1",
)
Claims = dict[str, Any]
Case = tuple[str, dict[str, str], Claims, Claims]

ATTRIBUTE = "oidc-usermodel-attribute-mapper"
PROPERTY = "oidc-usermodel-property-mapper"
HARDCODED = "oidc-hardcoded-claim-mapper"
REALM_ROLES = "oidc-usermodel-realm-role-mapper"
CLIENT_ROLES = "oidc-usermodel-client-role-mapper"
NOTE = "oidc-usersessionmodel-note-mapper"
GROUPS = "oidc-group-membership-mapper"
AUDIENCE = "oidc-audience-mapper"
ESSENTIAL = "oidc-claims-param-token-mapper"
VALUE = "oidc-claims-param-value-idtoken-mapper"
PAIRWISE = "oidc-sha256-pairwise-sub-mapper"
ELSEWHERE = {ESSENTIAL, VALUE, PAIRWISE}
"""Their cases are in test_requested_claims.py and test_subject_identifiers.py."""
ADDRESS = "oidc-address-mapper"
MANY = {"multivalued": "true"}


def _attribute(
    name: str, claims: Claims, config: dict[str, str] | None = None, *, bare: Claims | None = None
) -> Case:
    given = {"user.attribute": name, "claim.name": "c", **(config or {})}
    return (ATTRIBUTE, given, claims, bare or {})


def _typed(name: str, json_type: str, claims: Claims, config: dict[str, str] | None = None) -> Case:
    return _attribute(name, claims, {"jsonType.label": json_type, **(config or {})})


def _property(name: str, json_type: str, claims: Claims, bare: Claims) -> Case:
    config = {"user.attribute": name, "claim.name": "c", "jsonType.label": json_type}
    return (PROPERTY, config, claims, bare)


def _hardcoded(text: str, json_type: str, claims: Claims) -> Case:
    config = {"claim.name": "c", "claim.value": text, "jsonType.label": json_type}
    return (HARDCODED, config, claims, claims)


def _realm_roles(claim: str, claims: Claims, config: dict[str, str] | None = None) -> Case:
    return (REALM_ROLES, {"claim.name": claim, **(config or {})}, claims, {})


def _client_roles(claim: str, claims: Claims, config: dict[str, str] | None = None) -> Case:
    return (CLIENT_ROLES, {"claim.name": claim, **MANY, **(config or {})}, claims, {})


_OF = "usermodel.clientRoleMapping.clientId"
_PREFIX = "usermodel.clientRoleMapping.rolePrefix"
_REALM_PREFIX = {"usermodel.realmRoleMapping.rolePrefix": "P_"}

PLAIN: list[Case] = [
    ("oidc-sub-mapper", {}, {"sub": "ed79a6e5"}, {"sub": "user-2"}),
    ("oidc-acr-mapper", {}, {"acr": "1"}, {"acr": "1"}),
    ("oidc-amr-mapper", {}, {"amr": []}, {"amr": []}),
    ("oidc-session-state-mapper", {}, {"session_state": "session-1"}, {}),
    ("oidc-allowed-origins-mapper", {}, {"allowed-origins": ["https://app.test"]}, {}),
    (AUDIENCE, {"included.client.audience": "x"}, {"aud": "x"}, {"aud": "x"}),
    (AUDIENCE, {"included.custom.audience": "y"}, {"aud": "y"}, {"aud": "y"}),
    (
        AUDIENCE,
        {"included.client.audience": "x", "included.custom.audience": "y"},
        {"aud": "x"},
        {"aud": "x"},
    ),
    (
        AUDIENCE,
        {"included.client.audience": "", "included.custom.audience": "y"},
        {"aud": "y"},
        {"aud": "y"},
    ),
    (AUDIENCE, {}, {}, {}),
    ("oidc-audience-resolve-mapper", {}, {"aud": ["other", "svc.dot"]}, {}),
    ("oidc-full-name-mapper", {}, {"name": "Ann Bee"}, {}),
    (GROUPS, {"claim.name": "g", "full.path": "true"}, {"g": ["/g1/sub"]}, {}),
    (GROUPS, {"claim.name": "g", "full.path": "false"}, {"g": ["sub"]}, {}),
    (GROUPS, {"claim.name": "g"}, {"g": ["sub"]}, {}),
    (
        GROUPS,
        {"claim.name": "a.g", "full.path": "true"},
        {"a": {"g": ["/g1/sub"]}},
        {},
    ),
    (GROUPS, {}, {}, {}),
    (
        ADDRESS,
        {},
        {"address": {"street_address": "Main 1", "locality": "Town", "country": "NL"}},
        {},
    ),
    (
        ADDRESS,
        {"user.attribute.street": "gonly", "user.attribute.formatted": "one"},
        {"address": {"formatted": "1", "locality": "Town", "country": "NL"}},
        {},
    ),
    (
        ADDRESS,
        {
            "user.attribute.street": "many",
            "user.attribute.locality": "none",
            "user.attribute.country": "email",
        },
        {"address": {"street_address": "a", "country": "ann@x.test"}},
        {},
    ),
    (
        NOTE,
        {"user.session.note": "clientAddress", "claim.name": "clientAddress"},
        {"clientAddress": "192.0.2.7"},
        {},
    ),
    (
        NOTE,
        {"user.session.note": "AUTH_TIME", "claim.name": "auth_time", "jsonType.label": "long"},
        {"auth_time": 1700000001},
        {},
    ),
    (NOTE, {"user.session.note": "clientAddress", "claim.name": "auth_time"}, {}, {}),
    (NOTE, {"claim.name": "c"}, {}, {}),
]
VALUES: list[Case] = [
    _attribute("one", {"c": "1"}),
    _attribute("many", {"c": "a"}),
    _attribute("many", {"c": ["a", "b"]}, MANY),
    _attribute("one", {"c": ["1"]}, MANY),
    _attribute("empty", {}),
    _attribute("missing", {}),
    _attribute("gonly", {"c": "x"}),
    _attribute("gonly", {"c": ["x"]}, MANY),
    _attribute("both", {"c": ["near"]}, MANY),
    _attribute("both", {"c": ["near", "far"]}, {"aggregate.attrs": "true", **MANY}),
    _attribute("team", {"c": "own"}),
    _attribute("team", {"c": ["own"]}, MANY),
    _attribute("team", {"c": ["own", "green", "blue"]}, {"aggregate.attrs": "true", **MANY}),
    _attribute("team", {"c": "own"}, {"aggregate.attrs": "true"}),
    _attribute("username", {"c": "ann"}, bare={"c": "bob"}),
    _attribute("username", {"c": ["ann"]}, MANY, bare={"c": ["bob"]}),
    _attribute("email", {"c": "ann@x.test"}),
    _attribute("firstName", {"c": "Ann"}),
    _attribute("lastName", {"c": "Bee"}),
    _attribute("emailVerified", {}),
    _attribute("id", {}),
    _typed("one", "String", {"c": "1"}),
    _typed("one", "float", {"c": "1"}),
    _typed("one", "long", {"c": 1}),
    _typed("one", "int", {"c": 1}),
    _typed("num", "long", {"c": 42}),
    _typed("big", "int", {}),
    _typed("big", "long", {"c": 99999999999}),
    _typed("notnum", "long", {}),
    _typed("yes", "boolean", {"c": True}),
    _typed("no", "boolean", {"c": False}),
    _typed("yes", "boolean", {"c": [True]}, MANY),
    _typed("js", "JSON", {"c": {"a": [1, 2]}}),
    _typed("one", "JSON", {"c": 1}),
    _typed("badjs", "JSON", {}),
    _typed("nums", "int", {"c": [1, 2]}, MANY),
    _typed("jss", "JSON", {"c": [{"a": 1}, {"b": 2}]}, MANY),
    _typed("mixed", "int", {"c": [1]}, MANY),
    _typed("notnum", "int", {}, MANY),
    (ATTRIBUTE, {"user.attribute": "one"}, {}, {}),
    (ATTRIBUTE, {"claim.name": "c"}, {}, {}),
    _property("username", "String", {"c": "ann"}, {"c": "bob"}),
    _property("email", "String", {"c": "ann@x.test"}, {}),
    _property("emailVerified", "boolean", {"c": True}, {"c": False}),
    _property("emailVerified", "String", {"c": "true"}, {"c": "false"}),
    _property("id", "String", {"c": "ed79a6e5"}, {"c": "user-2"}),
    _property("enabled", "boolean", {"c": True}, {"c": True}),
    _property("createdTimestamp", "long", {"c": 1795194056851}, {"c": 1795194056851}),
    _property("firstName", "String", {"c": "Ann"}, {}),
    _property("FirstName", "String", {"c": "Ann"}, {}),
    _property("lastName", "String", {"c": "Bee"}, {}),
    _property("serviceAccountClientLink", "String", {}, {}),
    _property("one", "String", {}, {}),
    _property("", "String", {}, {}),
    _hardcoded("x", "String", {"c": "x"}),
    _hardcoded("x", "double", {"c": "x"}),
    _hardcoded("1", "long", {"c": 1}),
    _hardcoded("-5", "int", {"c": -5}),
    _hardcoded("+5", "int", {"c": 5}),
    _hardcoded(" 5", "int", {}),
    _hardcoded("1.5", "long", {}),
    _hardcoded("9223372036854775807", "long", {"c": 2**63 - 1}),
    _hardcoded("9223372036854775808", "long", {}),
    _hardcoded("-2147483648", "int", {"c": -(2**31)}),
    _hardcoded("2147483648", "int", {}),
    _hardcoded("99999999999999999999", "long", {}),
    _hardcoded("TRUE", "boolean", {"c": True}),
    _hardcoded("yes", "boolean", {"c": False}),
    _hardcoded('{"a":[1,null,2.5]}', "JSON", {"c": {"a": [1, None, 2.5]}}),
    _hardcoded("[1,2]", "JSON", {"c": [1, 2]}),
    _hardcoded('"q"', "JSON", {"c": "q"}),
    _hardcoded("null", "JSON", {"c": None}),
    _hardcoded("bad", "JSON", {}),
    _hardcoded("1e400", "JSON", {}),
    _hardcoded("123456789012345678901234567890", "JSON", {}),
    _hardcoded("[" * 100_000, "JSON", {}),
    _hardcoded('{"a":1,"a":2}', "JSON", {}),
    _hardcoded("", "String", {}),
    (HARDCODED, {"claim.name": "c"}, {}, {}),
    (HARDCODED, {"claim.value": "x"}, {}, {}),
    _realm_roles("realm_access.roles", {"realm_access": {"roles": ["admin-r", "part-a"]}}, MANY),
    _realm_roles("groups", {"groups": ["admin-r", "part-a"]}, MANY),
    _realm_roles("groups", {"groups": "admin-r"}),
    _realm_roles("my.roles", {"my": {"roles": ["admin-r", "part-a"]}}, MANY),
    _realm_roles("groups", {"groups": ["P_admin-r", "P_part-a"]}, {**MANY, **_REALM_PREFIX}),
    _realm_roles(
        "resource_access.x.roles",
        {"resource_access": {"x": {"roles": ["admin-r", "part-a"]}}},
        MANY,
    ),
    _realm_roles("resource_access.x.foo", {}, MANY),
    _realm_roles("realm_access.foo", {}, MANY),
    _realm_roles("realm_access.roles", {}),
    _realm_roles("groups", {}, {**MANY, "jsonType.label": "long"}),
    _realm_roles("", {}, MANY),
    _client_roles(
        "resource_access.${client_id}.roles",
        {
            "resource_access": {
                "app": {"roles": ["own"]},
                "other": {"roles": ["o1"]},
                "svc.dot": {"roles": ["r1", "r2"]},
            }
        },
    ),
    _client_roles("roles", {"roles": ["own", "o1", "r1", "r2"]}),
    _client_roles(
        "roles",
        {"roles": ["app/own", "other/o1", "svc.dot/r1", "svc.dot/r2"]},
        {_PREFIX: "${client_id}/"},
    ),
    _client_roles(
        "x.${client_id}.${client_id}",
        {
            "x": {
                "app": {"app": ["own"]},
                "other": {"other": ["o1"]},
                "svc.dot": {"svc.dot": ["r1", "r2"]},
            }
        },
    ),
    _client_roles("roles", {"roles": ["o1"]}, {_OF: "other"}),
    _client_roles(
        "ra.${client_id}.roles", {"ra": {"svc.dot": {"roles": ["r1", "r2"]}}}, {_OF: "svc.dot"}
    ),
    _client_roles(
        "roles", {"roles": ["${client_id}:o1"]}, {_OF: "other", _PREFIX: "${client_id}:"}
    ),
    _client_roles("roles", {}, {_OF: "nope"}),
    _client_roles("roles", {"roles": ["own", "o1", "r1", "r2"]}, {_OF: ""}),
    _client_roles("", {}),
]
CASES: list[Case] = [*PLAIN, *VALUES]


def _claims(
    mapper_type: str,
    config: dict[str, str],
    subject: TokenSubject = FULL,
    purpose: ClaimsFor = ClaimsFor.ACCESS_TOKEN,
) -> Claims:
    mapper = ProtocolMapper("id", "name", mapper_type, {purpose: "true", **config})
    return mapped_document([prepare_plan([mapper])], subject, purpose)


@pytest.mark.parametrize(("mapper_type", "config", "full", "bare"), CASES)
def test_a_mapper_adds_its_claim_if_there_is_a_value(
    mapper_type: str, config: dict[str, str], full: Claims, bare: Claims
) -> None:
    assert _claims(mapper_type, config, FULL) == full
    assert _claims(mapper_type, config, BARE) == bare


CHANGED = [
    ("oidc-hardcoded-role-mapper", {"role": "newr"}, None, "admin-r newr part-a"),
    ("oidc-hardcoded-role-mapper", {"role": "other.newr"}, "other", "newr o1"),
    ("oidc-hardcoded-role-mapper", {"role": "ghost.newr"}, "ghost", "newr"),
    ("oidc-hardcoded-role-mapper", {"role": "svc.dot.r9"}, "svc.dot", "r1 r2 r9"),
    ("oidc-hardcoded-role-mapper", {"role": "part-a"}, None, "admin-r part-a"),
    ("oidc-role-name-mapper", {"role": "admin-r", "new.role.name": "z"}, None, "part-a z"),
    (
        "oidc-role-name-mapper",
        {"role": "other.o1", "new.role.name": "o1"},
        None,
        "admin-r o1 part-a",
    ),
    ("oidc-role-name-mapper", {"role": "other.o1", "new.role.name": "o1"}, "other", ""),
    ("oidc-role-name-mapper", {"role": "admin-r", "new.role.name": "fresh.q"}, "fresh", "q"),
    ("oidc-role-name-mapper", {"role": "svc.dot.r1", "new.role.name": "zz"}, "svc.dot", "r2"),
    ("oidc-role-name-mapper", {"role": "missing", "new.role.name": "x"}, None, "admin-r part-a"),
    ("oidc-role-name-mapper", {"role": "part-a", "new.role.name": "admin-r"}, None, "admin-r"),
]


def _told(*mappers: ProtocolMapper) -> EffectiveRoles:
    return mapped_roles([prepare_plan([mapper]) for mapper in mappers], ROLES)


@pytest.mark.parametrize(("mapper_type", "config", "client", "names"), CHANGED)
def test_a_role_mapper_changes_the_others_whatever_its_options(
    mapper_type: str, config: dict[str, str], client: str | None, names: str
) -> None:
    mapper = ProtocolMapper("id", "m", mapper_type, {**config, "access.token.claim": "false"})
    told = _told(mapper)
    found = told.realm if client is None else dict(told.clients).get(client, ())
    assert " ".join(found) == names


@pytest.mark.parametrize(
    ("mapper_type", "config"),
    [
        ("oidc-hardcoded-role-mapper", {}),
        ("oidc-hardcoded-role-mapper", {"role": ""}),
        ("oidc-hardcoded-role-mapper", {"role": "other."}),
        ("oidc-role-name-mapper", {"role": "admin-r"}),
        ("oidc-role-name-mapper", {"new.role.name": "x"}),
    ],
)
def test_a_role_mapper_without_a_role_changes_nothing(
    mapper_type: str, config: dict[str, str]
) -> None:
    assert _told(ProtocolMapper("id", "m", mapper_type, config)) == ROLES


def test_a_client_without_roles_is_told_of_no_more() -> None:
    config = {"role": "other.o1", "new.role.name": "o1"}
    told = _told(ProtocolMapper("id", "m", "oidc-role-name-mapper", config))
    assert [client for client, _ in told.clients] == ["app", "svc.dot"]


def test_roles_are_renamed_before_others_are_added() -> None:
    added = ProtocolMapper("1", "add", "oidc-hardcoded-role-mapper", {"role": "newr"})
    config = {"role": "newr", "new.role.name": "renamed"}
    renamed = ProtocolMapper("2", "rename", "oidc-role-name-mapper", config)
    assert _told(added, renamed).realm == ("admin-r", "newr", "part-a")


def test_every_mapper_is_among_the_cases() -> None:
    adding = {mapper_type for mapper_type, *_ in CASES}
    changing = {mapper_type for mapper_type, *_ in CHANGED}
    assert adding | changing | ELSEWHERE == set(CLAIM_MAPPERS)


ADDING = {name: kind for name, kind in CLAIM_MAPPERS.items() if isinstance(kind, ClaimMapper)}
SPEAKING = {
    "included.client.audience": "x",
    "claim.name": "x",
    "claim.value": "y",
    "user.attribute": "username",
    "user.session.note": "clientAddress",
}


@pytest.mark.parametrize("purpose", ClaimsFor)
@pytest.mark.parametrize("option", ["false", "", "yes", "TRUE"])
@pytest.mark.parametrize("mapper_type", ADDING)
def test_a_mapper_adds_only_to_what_it_is_meant_for(
    mapper_type: str, option: str, purpose: ClaimsFor
) -> None:
    """Keycloak: anything but "true" says no."""
    assert _claims(mapper_type, {**SPEAKING, purpose: option}, FULL, purpose) == {}


_WHERE = {
    "oidc-sub-mapper": "access lightweight introspection",
    "oidc-allowed-origins-mapper": "access lightweight introspection",
    "oidc-audience-resolve-mapper": "access lightweight introspection",
    "oidc-acr-mapper": "access lightweight introspection id",
    AUDIENCE: "access lightweight introspection id",
    "oidc-amr-mapper": "access lightweight id",
    HARDCODED: "access lightweight introspection id userinfo response",
    NOTE: "access lightweight introspection id userinfo response",
    ESSENTIAL: "id userinfo",
    VALUE: "id",
    PAIRWISE: "",
}
_ELSE = "access lightweight introspection id userinfo"
_PURPOSES = {
    "access": ClaimsFor.ACCESS_TOKEN,
    "lightweight": ClaimsFor.LIGHTWEIGHT_TOKEN,
    "introspection": ClaimsFor.INTROSPECTION,
    "id": ClaimsFor.ID_TOKEN,
    "userinfo": ClaimsFor.USERINFO,
    "response": ClaimsFor.TOKEN_RESPONSE,
}


@pytest.mark.parametrize("mapper_type", ADDING)
def test_a_type_of_mapper_writes_where_keycloaks_does(mapper_type: str) -> None:
    config = {**SPEAKING, **dict.fromkeys(map(str, ClaimsFor), "true")}
    found = {
        name for name, purpose in _PURPOSES.items() if _claims(mapper_type, config, FULL, purpose)
    }
    if mapper_type == "oidc-amr-mapper":
        assert _claims(mapper_type, config, FULL, ClaimsFor.ID_TOKEN) == {"amr": []}
    assert found == set(_WHERE.get(mapper_type, _ELSE).split())


@pytest.mark.parametrize(
    ("config", "purpose", "added"),
    [
        ({"access.token.claim": "true"}, ClaimsFor.INTROSPECTION, True),
        ({"access.token.claim": "false"}, ClaimsFor.INTROSPECTION, False),
        (
            {"access.token.claim": "true", "introspection.token.claim": "false"},
            ClaimsFor.INTROSPECTION,
            False,
        ),
        ({"id.token.claim": "true"}, ClaimsFor.USERINFO, True),
        ({"id.token.claim": "true", "userinfo.token.claim": "false"}, ClaimsFor.USERINFO, False),
        ({"access.token.claim": "true"}, ClaimsFor.USERINFO, False),
        ({"access.token.claim": "true"}, ClaimsFor.LIGHTWEIGHT_TOKEN, False),
    ],
)
def test_an_older_option_counts_where_a_newer_one_is_absent(
    config: dict[str, str], purpose: ClaimsFor, *, added: bool
) -> None:
    mapper = ProtocolMapper("1", "m", HARDCODED, {"claim.name": "c", "claim.value": "x", **config})
    claims = mapped_document([prepare_plan([mapper])], FULL, purpose)
    assert claims == ({"c": "x"} if added else {})


def _hard(claim: str, text: str, **config: str) -> ProtocolMapper:
    options = {"claim.name": claim, "claim.value": text, "access.token.claim": "true"}
    return ProtocolMapper(claim, claim, HARDCODED, {**options, **config})


def _run(*mappers: ProtocolMapper) -> Claims:
    plans = [prepare_plan([mapper]) for mapper in mappers]
    return mapped_document(plans, FULL, ClaimsFor.ACCESS_TOKEN)


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("a.b.c", {"a": {"b": {"c": "1"}}}),
        (r"a\.b", {"a.b": "1"}),
        ("a\\\\.b", {"a\\": {"b": "1"}}),
        (".a", {".a": "1"}),
        ("a.", {"a": "1"}),
        ("a..b", {"a": {".b": "1"}}),
        (r"x\y", {"xy": "1"}),
        (" ", {" ": "1"}),
        ("ä", {"ä": "1"}),
        ("\\", {"\\": "1"}),
        ("a.\\", {"a": {"\\": "1"}}),
        ("", {}),
    ],
)
def test_a_dot_nests_a_claim_and_an_escaped_dot_does_not(name: str, claims: Claims) -> None:
    assert _run(_hard(name, "1")) == claims


def test_mappers_fill_one_object_together() -> None:
    assert _run(_hard("a.x", "1"), _hard("a.y", "2")) == {"a": {"x": "1", "y": "2"}}


def test_a_claim_that_is_no_object_is_left_as_it_is() -> None:
    assert _run(_hard("a", "1"), _hard("a.b", "2"), _hard("a.b.c", "3")) == {"a": "1"}
    assert _run(_hard("a.b", "2"), _hard("a", "1")) == {"a": "1"}


def test_lists_of_one_name_are_joined() -> None:
    def many(attribute: str) -> ProtocolMapper:
        config = {"user.attribute": attribute, "claim.name": "c", "access.token.claim": "true"}
        return ProtocolMapper(attribute, attribute, ATTRIBUTE, {**config, **MANY})

    assert _run(many("nums"), many("many"), many("one")) == {"c": ["1", "2", "a", "b"]}
    assert _run(_hard("c", "z"), many("many")) == {"c": ["z", "a", "b"]}


def test_roles_join_those_that_another_mapper_has_written() -> None:
    access = {"access.token.claim": "true", **MANY}
    where = {"claim.name": "resource_access.${client_id}.roles"}
    mappers = [
        ProtocolMapper(name, name, CLIENT_ROLES, {**access, **where, **config})
        for name, config in (("one", {_OF: "app", _PREFIX: "x-"}), ("all", {}))
    ]
    expected = {"app": {"roles": ["x-own", "own"]}, "other": {"roles": ["o1"]}}
    assert _run(*mappers) == {"resource_access": {**expected, "svc.dot": {"roles": ["r1", "r2"]}}}


@pytest.mark.parametrize(
    ("first_name", "last_name", "claims"),
    [("Ann", None, {"name": "Ann"}), (None, "Bee", {"name": "Bee"}), ("", "", {})],
)
def test_one_name_is_the_full_name_of_who_has_no_other(
    first_name: str | None, last_name: str | None, claims: Claims
) -> None:
    ann = replace(FULL, user=replace(ANN, first_name=first_name, last_name=last_name))
    assert _claims("oidc-full-name-mapper", {}, ann) == claims


@pytest.mark.parametrize("purpose", [ClaimsFor.ACCESS_TOKEN, ClaimsFor.USERINFO])
def test_an_attribute_of_a_group_is_told_of_a_user_without_any(purpose: ClaimsFor) -> None:
    """Mappers of attributes are left out only where neither the user nor a group has one."""
    config = {"user.attribute": "team", "claim.name": "team", purpose: "true"}
    mapper = ProtocolMapper(*("m", "team", "oidc-usermodel-attribute-mapper"), config=config)
    plans = (prepare_plan([mapper]),)
    bare = replace(FULL, user=replace(ANN, attributes={}))
    of_group = replace(bare, group_attributes=({"team": ("theirs",)},))
    alone = replace(bare, group_attributes=())
    found = [map_claims(plans, each, purpose).document({}) for each in (FULL, of_group, alone)]
    assert found == [{"team": "own"}, {"team": "theirs"}, {}]


def test_explicit_audiences_precede_those_of_roles() -> None:
    access = {"access.token.claim": "true"}
    resolve = ProtocolMapper("1", "resolve", "oidc-audience-resolve-mapper", access)
    named = [
        ProtocolMapper(name, name, AUDIENCE, {"included.client.audience": name, **access})
        for name in ("a", "other", "a")
    ]
    assert _run(resolve, *named) == {"aud": ["a", "other", "svc.dot"]}


def test_mappers_of_other_protocols_and_unknown_types_do_nothing() -> None:
    config = {"claim.name": "c", "claim.value": "x", "access.token.claim": "true"}
    assert (
        _run(
            ProtocolMapper("1", "one", HARDCODED, config, "saml"),
            ProtocolMapper("2", "two", "script-of-somebody", config),
        )
        == {}
    )


@pytest.mark.parametrize("below", ["", ".x", ".roles", ".other.roles"])
@pytest.mark.parametrize("claim", sorted(RESERVED_CLAIMS))
@pytest.mark.parametrize(
    ("mapper_type", "source"),
    [
        (PROPERTY, {"user.attribute": "emailVerified"}),
        (ATTRIBUTE, {"user.attribute": "one"}),
        (ATTRIBUTE, {"user.attribute": "one", **MANY}),
        (NOTE, {"user.session.note": "clientAddress"}),
        (HARDCODED, {"claim.value": "x"}),
        (GROUPS, {}),
    ],
)
def test_no_mapper_writes_a_protocol_claim_by_a_chosen_name(
    mapper_type: str, source: dict[str, str], claim: str, below: str
) -> None:
    """Another issuer, subject or role, or a confirmation of no key, must not be forged."""
    for purpose in _PURPOSES.values():
        assert _claims(mapper_type, {**source, "claim.name": claim + below}, FULL, purpose) == {}


def test_no_mapper_nests_deeper_than_a_token_can_be_written() -> None:
    """A realm file may bring one: the sign-ins of its client go on without the claim."""
    deep = {"claim.name": ".".join("a" * 300)}
    assert _claims(HARDCODED, {"claim.value": "x", **deep}) == {}
    assert _claims(GROUPS, deep, FULL) == {}
    for mapper_type in (REALM_ROLES, CLIENT_ROLES):
        assert _claims(mapper_type, {**MANY, **deep}) == {}


@pytest.mark.parametrize("claim", sorted(RESERVED_CLAIMS - {"realm_access", "resource_access"}))
@pytest.mark.parametrize("below", ["", ".roles", ".x.roles"])
def test_role_lists_stand_in_no_other_protocol_claim(claim: str, below: str) -> None:
    for mapper_type in (REALM_ROLES, CLIENT_ROLES):
        assert _claims(mapper_type, {**MANY, "claim.name": claim + below}) == {}


def test_the_claims_that_decide_something_are_reserved() -> None:
    deciding = {
        *("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "typ", "azp", "scope", "sid", "cnf"),
        *("acr", "auth_time", "realm_access", "resource_access", DEVICE_CLAIM),
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
