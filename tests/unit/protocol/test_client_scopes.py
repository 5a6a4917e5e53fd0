"""Which scopes a client gets, and what `scope` says of them. RFC 6749 §3.3; Keycloak: 1.1."""

from typing import Any, cast

import pytest

from gateway.domain.client_scopes import ClientScope, RoleBoundScope
from gateway.domain.clients.client import Client, ProtocolMapper
from gateway.domain.limits.input_sizes import PREPARED_BYTES
from gateway.domain.ports.lookups import ClientEntry, RealmEntry, UserEntry
from gateway.domain.ports.signing import KeyRing
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.protocol import scopes as client_scopes
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.errors import OAuthError
from gateway.protocol.scopes import (
    GrantedScopes,
    grant_scopes,
    resolve_claims,
    scopes_of,
    still_granted,
)
from tests.support.mapped_documents import rendered
from tests.support.stored_values import user

CLIENT = Client(
    id="1",
    realm_id="r",
    client_id="c",
    default_client_scopes=("basic", "profile", "roles", "unknown-to-the-realm", "assertion"),
    optional_client_scopes=("email", "mine", "gone"),
)
HIDDEN = {"include.in.token.scope": "false"}


def hard_coded(claim: str) -> ProtocolMapper:
    config = {"claim.name": claim, "claim.value": "x", "access.token.claim": "true"}
    return ProtocolMapper(claim, claim, "oidc-hardcoded-claim-mapper", config)


def scope(name: str, roles: EffectiveRoles | None = None, **fields: Any) -> RoleBoundScope:
    given = {"mappers": (hard_coded(f"by-{name}"),), **fields}
    return RoleBoundScope(ClientScope(name, "r", name, **given), roles or EffectiveRoles())


def realm(*scopes: RoleBoundScope) -> RealmEntry:
    return RealmEntry(Realm("r", "r"), cast("KeyRing", None), scopes)


REALM = realm(
    scope("assertion", protocol="saml"),
    scope("basic", attributes=HIDDEN),
    scope("email"),
    scope("mine"),
    scope("phone"),
    scope("profile"),
    scope("roles", attributes=HIDDEN),
)


def names(requested: str | None) -> tuple[str, ...]:
    return grant_scopes(REALM, CLIENT, requested).names


def test_without_a_request_the_realms_default_scopes_apply() -> None:
    assert names(None) == ("basic", "profile", "roles")
    assert grant_scopes(REALM, CLIENT, None).text == "profile"


@pytest.mark.parametrize("requested", [" ", "   "])
def test_blanks_alone_ask_for_nothing(requested: str) -> None:
    assert names(requested) == names(None)


def test_optional_scopes_come_on_request_sorted_by_name() -> None:
    assert names("mine email") == ("basic", "email", "mine", "profile", "roles")
    assert grant_scopes(REALM, CLIENT, "mine email").text == "email mine profile"


def test_openid_is_always_allowed_and_named_first() -> None:
    assert grant_scopes(REALM, CLIENT, "openid").text == "openid profile"
    bare = Client(id="2", realm_id="r", client_id="d", default_client_scopes=("basic",))
    assert grant_scopes(REALM, bare, "openid").text == "openid"
    assert grant_scopes(REALM, bare, None).text == ""


@pytest.mark.parametrize(
    "requested",
    ["", "phone", "openid phone", "PROFILE", "email  mine", "gone", "assertion", "nobody's"],
)
def test_a_scope_outside_the_client_is_refused_by_name(requested: str) -> None:
    with pytest.raises(OAuthError) as refused:
        grant_scopes(REALM, CLIENT, requested)
    assert refused.value.error == "invalid_scope"
    assert refused.value.description == f"Invalid scopes: {requested}"


def test_granted_scopes_are_limited_to_those_available_today() -> None:
    granted = still_granted(REALM, CLIENT, ["openid", "email", "gone", "phone"])
    assert granted.names == ("openid", "basic", "email", "profile", "roles")


def test_the_realm_tells_of_its_scopes_but_for_those_that_say_no() -> None:
    unseen = scope("unseen", attributes={"include.in.openid.provider.metadata": "false"})
    found = scopes_of(realm(scope("assertion", protocol="saml"), scope("mine"), unseen))
    assert found.shown == ("mine",)
    assert found.names == ("mine", "unseen")


def test_another_state_of_the_realm_brings_other_scopes() -> None:
    client = Client(id="1", realm_id="r", client_id="c", default_client_scopes=("a", "b"))
    assert grant_scopes(realm(scope("a"), scope("b")), client, None).names == ("a", "b")
    assert grant_scopes(realm(scope("b")), client, None).names == ("b",)


def test_order_and_repeats_of_names_make_no_further_entries() -> None:
    client = Client(id="1", realm_id="r", client_id="c", optional_client_scopes=("email", "mine"))
    entry = realm(scope("email"), scope("mine"))
    client_scopes._CHOICES.clear()
    for number in range(3000):
        asked = " ".join(["email"] * (number // 50) + ["mine"] * (number % 50)) or None
        assert set(grant_scopes(entry, client, asked).names) <= {"email", "mine"}
    assert len(client_scopes._CHOICES) == 4


def test_any_number_of_combinations_keeps_the_memory_bounded() -> None:
    scopes = [f"s{number}" for number in range(11)]
    client = Client(id="1", realm_id="r", client_id="c", optional_client_scopes=tuple(scopes))
    entry = realm(*map(scope, scopes))
    client_scopes._CHOICES.clear()
    for chosen in range(1 << len(scopes)):
        asked = [name for place, name in enumerate(scopes) if chosen >> place & 1]
        assert grant_scopes(entry, client, " ".join(asked) or None).names == tuple(asked)
    assert 0 < client_scopes._CHOICES.bytes <= PREPARED_BYTES


@pytest.mark.parametrize(
    ("requested", "excess"),
    [("email " * 201, "more than 200 names"), ("x" * 4001, "longer than 4000 characters")],
)
def test_too_much_is_refused_without_being_repeated(requested: str, excess: str) -> None:
    with pytest.raises(OAuthError) as refused:
        grant_scopes(REALM, CLIENT, requested.rstrip())
    assert refused.value.description == f"Invalid scopes: {excess}"


TEAM = EffectiveRoles(("member",), (("app", ("reader",)),))


@pytest.mark.parametrize(
    ("held", "granted"),
    [
        (EffectiveRoles(("member",)), ("free", "team")),
        (EffectiveRoles((), (("app", ("reader", "writer")),)), ("free", "team")),
        (EffectiveRoles(("other",), (("app", ("writer",)), ("web", ("reader",)))), ("free",)),
        (EffectiveRoles(), ("free",)),
    ],
)
def test_a_scope_with_roles_is_only_for_users_with_one(
    held: EffectiveRoles, granted: tuple[str, ...]
) -> None:
    client = Client(id="1", realm_id="r", client_id="c", default_client_scopes=("team", "free"))
    entry = realm(scope("free"), scope("team", TEAM))
    permitted = grant_scopes(entry, client, "openid").permitted_to(held)
    assert permitted.names == ("openid", *granted)
    assert permitted.text == f"openid {' '.join(granted)}"
    assert claims(client, entry, held).keys() == {f"by-{name}" for name in granted}


def claims(client: Client, entry: RealmEntry, held: EffectiveRoles) -> dict[str, Any]:
    told = resolve_claims(
        ClientEntry(client, None, EffectiveRoles()),
        UserEntry(user(), held),
        grant_scopes(entry, client, None),
    )
    return rendered(told.map_claims(ClaimsFor.ACCESS_TOKEN), told.subject)


def test_the_clients_own_mappers_come_with_those_of_its_scopes() -> None:
    client = Client(
        *("1", "r", "c"),
        default_client_scopes=("mine",),
        protocol_mappers=(hard_coded("own"),),
    )
    assert claims(client, REALM, EffectiveRoles()) == {"by-mine": "x", "own": "x"}


HELD = EffectiveRoles(
    ("a", "b", "c"),
    (("app", ("own", "other")), ("third", ("x",))),
)


def told_roles(*, full: bool, of_client: EffectiveRoles, **of_scopes: EffectiveRoles) -> Any:
    client = Client(
        *("1", "r", "c"),
        full_scope_allowed=full,
        default_client_scopes=tuple(of_scopes),
        optional_client_scopes=("asked",),
    )
    entry = realm(
        *(scope(name, roles) for name, roles in of_scopes.items()),
        scope("asked", EffectiveRoles(("c",))),
    )
    granted: GrantedScopes = grant_scopes(entry, client, None)
    found = ClientEntry(client, None, EffectiveRoles(), of_client)
    return resolve_claims(found, UserEntry(user(), HELD), granted).subject.roles


def test_a_full_scope_lets_every_role_through() -> None:
    assert told_roles(full=True, of_client=EffectiveRoles(("a",))) == HELD


def test_a_limited_scope_passes_roles_named_by_client_and_scopes() -> None:
    of_client = EffectiveRoles(("a", "z"), (("app", ("own",)),))
    assert told_roles(full=False, of_client=EffectiveRoles()) == EffectiveRoles()
    assert told_roles(full=False, of_client=of_client) == EffectiveRoles(
        ("a",), (("app", ("own",)),)
    )
    by_scope = EffectiveRoles(("b",), (("third", ("x", "y")),))
    assert told_roles(full=False, of_client=of_client, mine=by_scope) == EffectiveRoles(
        ("a", "b"), (("app", ("own",)), ("third", ("x",)))
    )


def test_a_client_role_passes_no_namesake_of_another_client() -> None:
    of_client = EffectiveRoles(("own", "x"), (("web", ("own",)), ("app", ("x",))))
    assert told_roles(full=False, of_client=of_client) == EffectiveRoles()
