"""Access, ID and refresh tokens: issued, signed, and recognized again."""

from gateway.protocol.tokens.access_token_checks import (
    AccessTokens,
    ActiveToken,
    OtherKindOfToken,
    administering_caller,
    without_left_out,
)
from gateway.protocol.tokens.issuing import (
    EXCHANGED,
    OFFLINE,
    REFRESH,
    BrowserTokens,
    Issue,
    SessionPart,
    TokenResponse,
    access_claims,
    access_token_lifespan,
    id_claims,
    issue_to_browser,
    issue_tokens,
)
from gateway.protocol.tokens.refresh_token_checks import (
    PresentedToken,
    RefreshTokens,
    note_refresh_token,
    read_refresh_token,
    session_is_over,
    verify_refresh_token,
)
from gateway.protocol.tokens.response_signing import (
    sign_introspection,
    sign_userinfo,
    with_access_token_claims_as_jwt,
)
from gateway.protocol.tokens.signing import (
    encrypt_authorization_response,
    encrypt_id_token,
    encrypt_userinfo,
    id_token_encrypter,
    sign_for_client,
)
