"""Values: where an authorization response goes, what it says, and how a browser carries it.

Spec: RFC 6749 §4.1.2, RFC 9207 §2; Keycloak: 12.10
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.domain.clients import Client


class ResponseMode(StrEnum):
    """How the parameters reach the client, by their names in `response_mode`."""

    QUERY = "query"
    FRAGMENT = "fragment"
    FORM_POST = "form_post"
    QUERY_JWT = "query.jwt"
    FRAGMENT_JWT = "fragment.jwt"
    FORM_POST_JWT = "form_post.jwt"


@dataclass(frozen=True, slots=True)
class ResponseTarget:
    """Where the response to a request goes. `redirect_uri` was verified to be the client's."""

    client: Client
    redirect_uri: str
    mode: ResponseMode
    state: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AuthorizationResponse:
    """The parameters of a response, without `state` and `iss`: those are added to each."""

    target: ResponseTarget
    parameters: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Redirect:
    """The browser gets 302 to `url`, which holds the parameters."""

    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FormPost:
    """The browser gets a page whose form posts `fields` to `url` by itself."""

    url: str
    fields: Mapping[str, str] = field(repr=False)


Delivery = Redirect | FormPost
