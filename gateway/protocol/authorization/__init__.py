"""The authorization endpoint: what a client may ask for, checked before anybody signs in."""

from gateway.protocol.authorization.checks import PROMPTS, RESPONSE_TYPES
from gateway.protocol.authorization.endpoints import (
    AuthorizationEndpoint,
    PushedRequest,
    keep_pushed_request,
    push_request,
)
from gateway.protocol.authorization.errors import (
    PageError,
    PageMessage,
    RedirectError,
    invalid_request_page,
    policy_refusal_page,
)
from gateway.protocol.authorization.levels import level_of, levels_of
from gateway.protocol.authorization.request import (
    AuthorizationRequest,
    CheckServices,
    CodeChallenge,
    Prompt,
    RequestedLevel,
    ResponseType,
    SignInRequest,
    StoredRequestUnusable,
    restore_request,
)
