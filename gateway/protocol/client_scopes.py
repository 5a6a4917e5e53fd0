"""Client scopes: what a scope name in a request brings into the tokens.

The built-in scopes and their mappers, as Keycloak creates them in every realm.
Spec: RFC 6749 §3.3; Keycloak: client scopes
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.domain.clients import Client, ProtocolMapper
from gateway.protocol.errors import OAuthError

OPENID: Final = "openid"
OFFLINE_ACCESS: Final = "offline_access"


@dataclass(frozen=True, slots=True)
class ClientScope:
    """A named bundle of protocol mappers; `in_token_scope` lists its name in `scope`."""

    name: str
    mappers: tuple[ProtocolMapper, ...] = ()
    in_token_scope: bool = False


_ACCESS: Final = {"access.token.claim": "true"}
_ID: Final = {**_ACCESS, "id.token.claim": "true"}
_EVERYWHERE: Final = {**_ID, "userinfo.token.claim": "true"}


def _mapper(name: str, mapper_type: str, config: Mapping[str, str]) -> ProtocolMapper:
    return ProtocolMapper(id=name, name=name, mapper_type=mapper_type, config=config)


def _user_property(name: str, property_name: str, claim: str) -> ProtocolMapper:
    config = {**_EVERYWHERE, "user.attribute": property_name, "claim.name": claim}
    return _mapper(name, "oidc-usermodel-property-mapper", config)


def _session_note(name: str, note: str) -> ProtocolMapper:
    config = {**_ID, "user.session.note": note, "claim.name": note}
    return _mapper(name, "oidc-usersessionmodel-note-mapper", config)


BUILT_IN: Final[Mapping[str, ClientScope]] = {
    scope.name: scope
    for scope in (
        ClientScope("basic", (_mapper("sub", "oidc-sub-mapper", _ACCESS),)),
        ClientScope("acr", (_mapper("acr loa level", "oidc-acr-mapper", _ID),)),
        ClientScope(
            "web-origins", (_mapper("allowed web origins", "oidc-allowed-origins-mapper", _ACCESS),)
        ),
        ClientScope(
            "roles",
            (
                _mapper("audience resolve", "oidc-audience-resolve-mapper", _ACCESS),
                _mapper("realm roles", "oidc-usermodel-realm-role-mapper", _ACCESS),
                _mapper("client roles", "oidc-usermodel-client-role-mapper", _ACCESS),
            ),
        ),
        ClientScope(
            "profile",
            (
                _mapper("full name", "oidc-full-name-mapper", _EVERYWHERE),
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
        ClientScope(OFFLINE_ACCESS, in_token_scope=True),
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
    def offline(self) -> bool:
        """Tell whether the session is to outlive the browser."""
        return any(scope.name == OFFLINE_ACCESS for scope in self.scopes)

    @property
    def names(self) -> tuple[str, ...]:
        """Return every name, those a client may not see included."""
        names = tuple(scope.name for scope in self.scopes)
        return (OPENID, *names) if self.openid else names

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


def still_granted(client: Client, names: Iterable[str]) -> GrantedScopes:
    """Return what is left of scopes granted earlier, and the client's default scopes."""
    allowed = {OPENID, *client.default_client_scopes, *client.optional_client_scopes}
    return grant_scopes(client, " ".join(name for name in names if name in allowed) or None)


def _names(requested: str | None) -> tuple[str, ...]:
    """Split as Keycloak does: blanks alone ask for nothing, an empty text names a scope ""."""
    if requested is None or (requested and not requested.strip(" ")):
        return ()
    return tuple(requested.rstrip(" ").split(" "))
