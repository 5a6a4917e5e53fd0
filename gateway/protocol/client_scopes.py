"""Client scopes: what a scope name in a request brings into the tokens.

The built-in scopes and their mappers, as Keycloak creates them in every realm.
Spec: RFC 6749 §3.3; Keycloak: client scopes
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.domain.clients import Client, ProtocolMapper
from gateway.protocol.errors import OAuthError

OPENID: Final = "openid"


@dataclass(frozen=True, slots=True)
class ClientScope:
    """A named bundle of protocol mappers; `in_token_scope` lists its name in `scope`."""

    name: str
    mappers: tuple[ProtocolMapper, ...] = ()
    in_token_scope: bool = False


def _mapper(name: str, mapper_type: str, **config: str) -> ProtocolMapper:
    return ProtocolMapper(id=name, name=name, mapper_type=mapper_type, config=config)


def _user_property(name: str, property_name: str, claim: str) -> ProtocolMapper:
    return _mapper(
        name,
        "oidc-usermodel-property-mapper",
        **{"user.attribute": property_name, "claim.name": claim},
    )


def _session_note(name: str, note: str) -> ProtocolMapper:
    return _mapper(
        name, "oidc-usersessionmodel-note-mapper", **{"user.session.note": note, "claim.name": note}
    )


BUILT_IN: Final[Mapping[str, ClientScope]] = {
    scope.name: scope
    for scope in (
        ClientScope("basic", (_mapper("sub", "oidc-sub-mapper"),)),
        ClientScope("acr", (_mapper("acr loa level", "oidc-acr-mapper"),)),
        ClientScope(
            "web-origins", (_mapper("allowed web origins", "oidc-allowed-origins-mapper"),)
        ),
        ClientScope(
            "roles",
            (
                _mapper("audience resolve", "oidc-audience-resolve-mapper"),
                _mapper("realm roles", "oidc-usermodel-realm-role-mapper"),
                _mapper("client roles", "oidc-usermodel-client-role-mapper"),
            ),
        ),
        ClientScope(
            "profile",
            (
                _mapper("full name", "oidc-full-name-mapper"),
                _user_property("username", "username", "preferred_username"),
                _user_property("given name", "firstName", "given_name"),
                _user_property("family name", "lastName", "family_name"),
            ),
            in_token_scope=True,
        ),
        ClientScope(
            "email",
            (
                _user_property("email", "email", "email"),
                _user_property("email verified", "emailVerified", "email_verified"),
            ),
            in_token_scope=True,
        ),
        ClientScope(
            "service_account",
            (
                _session_note("Client ID", "client_id"),
                _session_note("Client Host", "clientHost"),
                _session_note("Client IP Address", "clientAddress"),
            ),
        ),
    )
}
"""Every client scope that has an effect here, in the order in which `scope` names them."""


@dataclass(frozen=True, slots=True)
class GrantedScopes:
    """The scopes of one token, and the text of its `scope` claim."""

    scopes: tuple[ClientScope, ...]
    openid: bool

    @property
    def text(self) -> str:
        """Return the names a client may see, space separated."""
        names = [scope.name for scope in self.scopes if scope.in_token_scope]
        return " ".join([OPENID, *names] if self.openid else names)


def grant_scopes(client: Client, requested: str | None) -> GrantedScopes:
    """Return the client's default scopes plus the requested optional ones.

    None asks for nothing beyond the defaults. Raises invalid_scope on any name that the client
    was not given.
    """
    names = _names(requested)
    allowed = {OPENID, *client.default_client_scopes, *client.optional_client_scopes}
    if not allowed.issuperset(names):
        raise OAuthError("invalid_scope", f"Invalid scopes: {requested}")
    chosen = {*client.default_client_scopes, *names}
    scopes = tuple(scope for name, scope in BUILT_IN.items() if name in chosen)
    return GrantedScopes(scopes, openid=OPENID in names)


def _names(requested: str | None) -> tuple[str, ...]:
    """Split as Keycloak does: blanks alone ask for nothing, an empty text names a scope ""."""
    if requested is None or (requested and not requested.strip(" ")):
        return ()
    return tuple(requested.rstrip(" ").split(" "))
