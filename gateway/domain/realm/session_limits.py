"""How long sessions last. Keycloak: the realm's session settings, creation defaults."""

from dataclasses import dataclass
from datetime import timedelta

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
