"""Rotation of refresh tokens. Keycloak: revokeRefreshToken, refreshTokenMaxReuse."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RefreshTokenPolicy:
    """Whether a refresh token may be used again. Spec: RFC 9700 §4.14."""

    revoke_on_use: bool = False
    """`revokeRefreshToken`: each use retires the token and gives a new one."""
    max_reuse: int = 0
    """`refreshTokenMaxReuse`: how often a retired token is still accepted."""
