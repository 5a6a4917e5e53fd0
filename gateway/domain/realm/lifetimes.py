"""How long tokens, codes and sessions of a realm last, and the rotation of refresh tokens.

Keycloak: the realm's token and session settings, creation defaults
"""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class TokenLifespans:
    """Lifetimes counted from the issue of the token or code; whole seconds on the wire."""

    access_token: timedelta = timedelta(minutes=5)
    """`accessTokenLifespan`: an access token. The realm `master` is created with 60 s."""
    access_token_for_implicit_flow: timedelta = timedelta(minutes=15)
    """`accessTokenLifespanForImplicitFlow`: an access token given to a browser without a code."""
    access_code: timedelta = timedelta(minutes=1)
    """`accessCodeLifespan`: an authorization code, until it is redeemed."""
    access_code_user_action: timedelta = timedelta(minutes=5)
    """`accessCodeLifespanUserAction`: one page of a required action."""
    access_code_login: timedelta = timedelta(minutes=30)
    """`accessCodeLifespanLogin`: the whole sign-in, from the first page to the code."""
    action_token_by_admin: timedelta = timedelta(hours=12)
    """`actionTokenGeneratedByAdminLifespan`: a link that an administrator has sent."""
    action_token_by_user: timedelta = timedelta(minutes=5)
    """`actionTokenGeneratedByUserLifespan`: a link that the user asked for."""
    device_code: timedelta = timedelta(minutes=10)
    """`oauth2DeviceCodeLifespan`: device and user code. Spec: RFC 8628 §3.2 `expires_in`."""
    device_polling_interval: timedelta = timedelta(seconds=5)
    """`oauth2DevicePollingInterval`: least pause of a polling device. Spec: RFC 8628 §3.2."""


@dataclass(frozen=True, slots=True)
class RefreshTokenPolicy:
    """Whether a refresh token may be used again. Spec: RFC 9700 §4.14."""

    revoke_on_use: bool = False
    """`revokeRefreshToken`: each use retires the token and gives a new one."""
    max_reuse: int = 0
    """`refreshTokenMaxReuse`: how often a retired token is still accepted."""


_NONE = timedelta()


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Idle timeouts are counted from the last refresh, maximum lifetimes from the sign-in.

    Whole seconds on the wire. Where zero is said to inherit, the wider setting is used.
    """

    idle: timedelta = timedelta(minutes=30)
    """`ssoSessionIdleTimeout`: a single-sign-on session that is not used."""
    max_lifespan: timedelta = timedelta(hours=10)
    """`ssoSessionMaxLifespan`: a single-sign-on session, however much it is used."""
    idle_remember_me: timedelta = _NONE
    """`ssoSessionIdleTimeoutRememberMe`: idle timeout with "remember me"; 0 inherits."""
    max_lifespan_remember_me: timedelta = _NONE
    """`ssoSessionMaxLifespanRememberMe`: maximum lifetime with "remember me"; 0 inherits."""
    offline_idle: timedelta = timedelta(days=30)
    """`offlineSessionIdleTimeout`: an offline session that is not used."""
    offline_max_lifespan_enabled: bool = False
    """`offlineSessionMaxLifespanEnabled`: whether offline sessions end at all while in use."""
    offline_max_lifespan: timedelta = timedelta(days=60)
    """`offlineSessionMaxLifespan`: maximum lifetime of an offline session, where enabled."""
    client_idle: timedelta = _NONE
    """`clientSessionIdleTimeout`: one client's part of a session; 0 inherits."""
    client_max_lifespan: timedelta = _NONE
    """`clientSessionMaxLifespan`: one client's part of a session; 0 inherits."""
    client_offline_idle: timedelta = _NONE
    """`clientOfflineSessionIdleTimeout`: one client's part of an offline session; 0 inherits."""
    client_offline_max_lifespan: timedelta = _NONE
    """`clientOfflineSessionMaxLifespan`: one client's part of an offline session; 0 inherits."""
