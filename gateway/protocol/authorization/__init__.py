"""The authorization endpoint: what a client may ask for, checked before anybody signs in."""

from gateway.protocol.authorization.errors import PageError, PageMessage, RedirectError
from gateway.protocol.authorization.request import (
    AuthorizationRequest,
    CodeChallenge,
    Prompt,
    RequestedLevel,
    ResponseType,
    StoredRequestUnusable,
    restore,
)
