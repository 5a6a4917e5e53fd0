"""What may be wrong with what a user event tells of. Keycloak: Errors (26.7)."""

from typing import Final

ACCESS_DENIED: Final = "access_denied"
CLIENT_DISABLED: Final = "client_disabled"
CLIENT_NOT_FOUND: Final = "client_not_found"
CONSENT_DENIED: Final = "consent_denied"
INVALID_CLIENT: Final = "invalid_client"
INVALID_CLIENT_CREDENTIALS: Final = "invalid_client_credentials"
INVALID_REQUEST: Final = "invalid_request"
INVALID_TOKEN: Final = "invalid_token"  # noqa: S105 - a name
INVALID_TOKEN_TYPE: Final = "invalid_token_type"  # noqa: S105 - a name
INVALID_USER: Final = "invalid_user"
INVALID_USER_CREDENTIALS: Final = "invalid_user_credentials"
NOT_ALLOWED: Final = "not_allowed"
RESOLVE_REQUIRED_ACTIONS: Final = "resolve_required_actions"
USER_DISABLED: Final = "user_disabled"
USER_NOT_FOUND: Final = "user_not_found"
USER_SESSION_NOT_FOUND: Final = "user_session_not_found"
USER_TEMPORARILY_DISABLED: Final = "user_temporarily_disabled"
