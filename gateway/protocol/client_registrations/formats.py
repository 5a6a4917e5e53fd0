"""In which words a client is registered: Keycloak's own, or those of RFC 7591.

A format is one value here and one entry in `http/registration`. Keycloak: client registration
providers `default` and `openid-connect`
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from gateway.domain.clients import Client
from gateway.protocol.errors import OAuthError
from gateway.representations.clients import given_field
from gateway.representations.registration import (
    BASIC_SCOPE,
    client_of_metadata,
    read_metadata,
    requested_scopes,
)


class Format(Protocol):
    """Turns what was sent into a document of the admin API."""

    def new_client(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a client to add; raises OAuthError, UnknownField and InvalidInput."""
        ...

    def changed_client(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what of a client is to be changed; raises UnknownField and InvalidInput."""
        ...

    def name(self, document: Mapping[str, Any]) -> object:
        """Return the public name that the document tells."""
        ...

    def scopes(self, document: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return which scopes a known client shall be able to ask for, None to leave them."""
        ...

    def with_scopes(self, client: Client, scopes: tuple[str, ...]) -> Client:
        """Return the client with these scopes to ask for."""
        ...


class KeycloakFormat:
    """The representation of the admin API. Lists of scopes count at the registration alone."""

    def new_client(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the document."""
        return document

    def changed_client(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the document."""
        return document

    def name(self, document: Mapping[str, Any]) -> object:
        """Return `clientId`."""
        return given_field(document, "clientId")

    def scopes(self, document: Mapping[str, Any]) -> tuple[str, ...] | None:  # noqa: ARG002 - a Format
        """Return None."""
        return None

    def with_scopes(self, client: Client, scopes: tuple[str, ...]) -> Client:  # noqa: ARG002 - a Format
        """Return the client."""
        return client


class OpenIdFormat:
    """The metadata of RFC 7591."""

    def new_client(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a client whose name is made here."""
        metadata = read_metadata(document)
        if metadata.get("client_id") is not None:
            raise OAuthError("invalid_client_metadata", "Client Identifier included")
        client = client_of_metadata(metadata, new=True)
        scopes = requested_scopes(metadata)
        if scopes is None:
            return client
        always = [BASIC_SCOPE]
        return {**client, "defaultClientScopes": always, "optionalClientScopes": list(scopes)}

    def changed_client(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is said."""
        return client_of_metadata(read_metadata(document), new=False)

    def name(self, document: Mapping[str, Any]) -> object:
        """Return `client_id`."""
        return document.get("client_id")

    def scopes(self, document: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return what `scope` says."""
        return requested_scopes(read_metadata(document))

    def with_scopes(self, client: Client, scopes: tuple[str, ...]) -> Client:
        """Return the client with these scopes to ask for; it keeps those that it always gets."""
        asked = tuple(name for name in scopes if name not in client.default_client_scopes)
        return replace(client, optional_client_scopes=asked)


KEYCLOAK: Final[Format] = KeycloakFormat()
OPENID: Final[Format] = OpenIdFormat()
