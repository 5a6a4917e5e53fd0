"""A link that lets its user perform required actions, as what a sign-in is for.

It begins no session: a page at its end says that the account was updated. The flow of the client
is not run, as the link has proven the user. Keycloak: ExecuteActionsActionTokenHandler, 16.2
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from gateway.client_policies import EnforcedFlow
from gateway.domain.authentication import MessageKey
from gateway.domain.clients import Client
from gateway.domain.events import EventError
from gateway.domain.ports.directory import ClientEntry, RealmEntry
from gateway.domain.sessions import UserSession
from gateway.domain.users import User
from gateway.protocol.authorization import PageError, PageMessage, Prompt, RequestedLevel
from gateway.protocol.browser_sign_in.outcomes import Inform, SignInResponse, Stop
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, still_granted
from gateway.protocol.sign_in_results.session_joining import FinishedSignIn

_LINK: Final = "followed_link"
_REDIRECT_URI: Final = "link_redirect_uri"


@dataclass(frozen=True, slots=True)
class FollowedLink:
    """The client that the link was made for, and where the page at the end leads to."""

    client: ClientEntry = field(repr=False)
    scopes: GrantedScopes = field(repr=False)
    redirect_uri: str = field(default="", repr=False)
    prompt: frozenset[Prompt] = frozenset()
    max_age: timedelta | None = None
    action: str | None = None
    action_parameter: str | None = None
    login_hint: str | None = None
    hinted_user: str | None = None
    level: RequestedLevel | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)
    event_details: Mapping[str, str] = field(default_factory=dict)

    def stored(self) -> Mapping[str, str]:
        """Return the link as text by names; `restore_link` reads it."""
        return {
            "client_id": self.client.client.client_id,
            _LINK: "true",
            _REDIRECT_URI: self.redirect_uri,
        }


def names_link(stored: Mapping[str, str]) -> bool:
    """Tell whether a stored request is that of a link."""
    return _LINK in stored


def followed_link(realm: RealmEntry, client: ClientEntry, redirect_uri: str = "") -> FollowedLink:
    """Return a link of a client; `redirect_uri` was verified."""
    return FollowedLink(client, still_granted(realm, client.client, ()), redirect_uri)


def restore_link(
    stored: Mapping[str, str], request: ProtocolRequest, client: ClientEntry
) -> FollowedLink:
    """Return the link that `stored` was written from.

    Raises PageError where its redirect URI is none of the client's any more.
    """
    target = validate_target(request, client.client, stored.get(_REDIRECT_URI) or None)
    return followed_link(request.realm, client, target)


def validate_target(request: ProtocolRequest, client: Client, uri: str | None) -> str:
    """Return where the page at the end of a link leads to, "" for nowhere.

    Raises PageError where the address is none of the client's any more.
    """
    if uri is None or client.redirects.match(uri, request.issuer.partition("/realms/")[0]):
        return uri or ""
    raise PageError(
        PageMessage.invalidRedirectUriMessage,
        event_error=EventError.INVALID_REDIRECT_URI,
        reason="not an address of the client",
        client=client,
    )


@dataclass(frozen=True, slots=True)
class LinkPurpose:
    """The user performs the actions of a link."""

    asked: FollowedLink
    is_always_confirmed: bool = False
    has_flow: bool = False
    enforced_flow: EnforcedFlow | None = None

    def final_page(self, user: User) -> Inform | None:
        return Inform(
            MessageKey.ACCOUNT_UPDATED,
            self.asked.client.client,
            continue_url=self.asked.redirect_uri,
            locale=user.locale,
        )

    async def complete(
        self,
        request: ProtocolRequest,  # noqa: ARG002
        finished: FinishedSignIn,  # noqa: ARG002
    ) -> tuple[SignInResponse, UserSession]:
        """Raise OAuthError: a link begins no session."""
        raise self.refusal("access_denied", EventError.NOT_ALLOWED)

    async def reject(
        self,
        request: ProtocolRequest,
        description: str | None = None,  # noqa: ARG002 - no client reads it
    ) -> Stop:
        request.event.fail(EventError.REJECTED_BY_USER)
        return Stop(MessageKey.ACCESS_DENIED, self.asked.client.client)

    def refusal(
        self, error: str, event_error: str | None, description: str | None = None
    ) -> OAuthError:
        event = None if event_error is None else EventFailure(event_error)
        return OAuthError(error, description, event=event)
