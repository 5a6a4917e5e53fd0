"""secure-client-uris: the addresses of clients have the scheme https and no wildcard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import (
    AuthorizationRequested,
    ClientChange,
    ClientRequest,
    EventKind,
)
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_METADATA, INVALID_REQUEST, PolicyRefusal
from gateway.client_policies.settings import NOTHING, ClientSettings

_TEXTS: Final[Mapping[str, str]] = {
    "backchannelLogoutUrl": "logoutUrl",
    "frontchannelLogoutUrl": "frontChannelLogoutUrl",
    "postLogoutRedirectUris": "postLogoutUris",
}
_LOCAL: Final = ("http://localhost", "http://127.0.0.1")
_ENDS: Final = ("", "/", ":", "?")


@dataclass(frozen=True, slots=True)
class SecureClientUris(Executor):
    """Refuses addresses without TLS; `allows_local` excepts those of a request.

    Of a request it judges where the browser would go, after a sign-in or a logout.
    """

    provider: ClassVar = "secure-client-uris"
    allows_local: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        return cls(configuration.flag("allow-http-on-localhost"))

    def configure(self, change: ClientChange) -> ClientSettings:
        """Take the root URL of a new client for its redirect URI, in place of a wildcard below."""
        root = change.proposed.redirects.root_url
        if change.kind is EventKind.REGISTER and root and not change.proposed.redirects.patterns:
            return ClientSettings({"redirectUris": [root]})
        return NOTHING

    def check_change(self, change: ClientChange) -> None:
        for name, addresses in change.addresses(change.proposed).items():
            if name != "sectorIdentifierUri" and not all(map(_is_secure, addresses)):
                text = f"Invalid {_TEXTS.get(name, name)}"
                raise PolicyRefusal(INVALID_METADATA, text)

    def check_authorization(self, request: AuthorizationRequested) -> None:
        uri = request.redirect_uri or ""
        if self.allows_local and _is_local(uri):
            return
        redirects, base_url = request.client.redirects, request.base_url
        if not _is_secure(uri) or not redirects.match_exactly(uri, base_url):
            # A client of before the policy may have a wildcard, which no new one may have.
            raise PolicyRefusal(INVALID_REQUEST, "Invalid redirect_uri")

    def check_request(self, request: ClientRequest) -> None:
        uri = request.redirect_uri
        if uri is not None and not _is_secure(uri) and not (self.allows_local and _is_local(uri)):
            raise PolicyRefusal(INVALID_REQUEST, "Invalid post_logout_redirect_uri")


def _is_secure(address: str) -> bool:
    return address.startswith("https://") and "*" not in address


def _is_local(uri: str) -> bool:
    """Tell whether the host is the loopback one, and does not only begin like it."""
    return "*" not in uri and any(
        uri.startswith(begin) and uri[len(begin) : len(begin) + 1] in _ENDS for begin in _LOCAL
    )
