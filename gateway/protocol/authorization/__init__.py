"""The authorization endpoint: what a client may ask for, checked before anybody signs in."""

from gateway.protocol.authorization.checks.prompt import PROMPTS
from gateway.protocol.authorization.checks.response_type import RESPONSE_TYPES
from gateway.protocol.authorization.draft import CheckServices
from gateway.protocol.authorization.endpoint import AuthorizationEndpoint
from gateway.protocol.authorization.errors import (
    PageError,
    PageMessage,
    RedirectError,
    invalid_request_page,
    policy_refusal_page,
)
from gateway.protocol.authorization.levels import level_of, levels_of
from gateway.protocol.authorization.pushed_requests import (
    PushedRequest,
    PushedRequestEndpoint,
    keep_pushed_request,
)
from gateway.protocol.authorization.request import (
    AuthorizationRequest,
    CodeChallenge,
    Prompt,
    RequestedLevel,
    ResponseType,
    StoredRequestUnusable,
    restore,
)
