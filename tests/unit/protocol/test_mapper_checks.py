"""A mapper that could not act is refused when it is written, and every other one is taken."""

from collections.abc import Mapping

import pytest

from gateway.admin.client_scope_defaults import default_client_scopes
from gateway.domain.clients.client import ProtocolMapper
from gateway.domain.errors import InvalidInput
from gateway.domain.refusals import NotFound
from gateway.protocol.claims import CLAIM_MAPPERS, STORED_ONLY, check_mapper
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS

ROLES = {"oidc-hardcoded-role-mapper", "oidc-role-name-mapper"}
NAMED = {"role": "a", "new.role.name": "b"}


def mapper(kind: str, config: Mapping[str, str]) -> ProtocolMapper:
    return ProtocolMapper("1", "m", kind, config)


def wrong(kind: str, config: Mapping[str, str]) -> str:
    """Return where a mapper is wrong."""
    with pytest.raises(InvalidInput) as refused:
        check_mapper(mapper(kind, config))
    return refused.value.errors[0].path


@pytest.mark.parametrize("kind", sorted({*CLAIM_MAPPERS, *STORED_ONLY}))
def test_every_type_of_keycloaks_is_taken(kind: str) -> None:
    check_mapper(mapper(kind, NAMED if kind in ROLES else {}))


@pytest.mark.parametrize("kind", ["nope", "", "oidc-script-based-protocol-mapper"])
def test_another_type_is_not_found(kind: str) -> None:
    with pytest.raises(NotFound, match=r"^ProtocolMapper provider not found$"):
        check_mapper(mapper(kind, {}))


def test_every_mapper_of_the_built_in_scopes_is_taken() -> None:
    mappers = [one for scope in default_client_scopes("demo") for one in scope.mappers]
    assert len(mappers) > 30
    for one in mappers:
        check_mapper(one)


@pytest.mark.parametrize("below", ["", ".x"])
@pytest.mark.parametrize("claim", sorted(RESERVED_CLAIMS))
def test_a_claim_that_the_protocol_needs_is_refused(claim: str, below: str) -> None:
    name = {"claim.name": claim + below}
    for kind in sorted(set(CLAIM_MAPPERS) - ROLES):
        assert wrong(kind, name) == "config.claim.name"


@pytest.mark.parametrize("kind", sorted(STORED_ONLY))
def test_a_mapper_that_does_nothing_may_name_any_claim(kind: str) -> None:
    check_mapper(mapper(kind, {"claim.name": "aud"}))


def test_a_claim_deeper_than_a_token_can_be_written_is_refused() -> None:
    """Three hundred dots, and every sign-in through the client would answer 500."""
    for kind in sorted(set(CLAIM_MAPPERS) - ROLES):
        check_mapper(mapper(kind, {"claim.name": ".".join("a" * 30)}))
        assert wrong(kind, {"claim.name": ".".join("a" * 31)}) == "config.claim.name"


@pytest.mark.parametrize(
    "name", ["realm_access.roles", "resource_access.x.roles", "resource_access.${client_id}.roles"]
)
def test_role_lists_may_stand_where_keycloaks_do(name: str) -> None:
    config = {"claim.name": name, "multivalued": "true"}
    for kind in ("oidc-usermodel-realm-role-mapper", "oidc-usermodel-client-role-mapper"):
        check_mapper(mapper(kind, config))
        assert wrong(kind, {"claim.name": name}) == "config.claim.name"


def test_the_time_of_the_sign_in_may_be_told_from_its_note_alone() -> None:
    note = "oidc-usersessionmodel-note-mapper"
    check_mapper(mapper(note, {"claim.name": "auth_time", "user.session.note": "AUTH_TIME"}))
    for config in (
        {"claim.name": "auth_time", "user.session.note": "clientHost"},
        {"claim.name": "auth_time"},
        {"claim.name": "acr", "user.session.note": "AUTH_TIME"},
        {"claim.name": "auth_time.x", "user.session.note": "AUTH_TIME"},
    ):
        assert wrong(note, config) == "config.claim.name"


@pytest.mark.parametrize(
    ("kind", "config", "path"),
    [
        ("oidc-hardcoded-role-mapper", {}, "config.role"),
        ("oidc-hardcoded-role-mapper", {"role": "x."}, "config.role"),
        ("oidc-role-name-mapper", {"new.role.name": "b"}, "config.role"),
        ("oidc-role-name-mapper", {"role": "a"}, "config.new.role.name"),
        (
            "oidc-hardcoded-claim-mapper",
            {"claim.value": "x", "jsonType.label": "long"},
            "config.claim.value",
        ),
    ],
)
def test_what_a_mapper_needs_is_refused_where_it_is_missing(
    kind: str, config: dict[str, str], path: str
) -> None:
    assert wrong(kind, config) == path
