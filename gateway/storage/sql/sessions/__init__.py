"""Offline sessions, refresh tokens and revocations in SQL."""

from gateway.storage.sql.sessions.offline_sessions import SqlOfflineSessions
from gateway.storage.sql.sessions.refresh_tokens import SqlRefreshTokens
from gateway.storage.sql.sessions.revocations import SqlRevocations
from gateway.storage.sql.sessions.rotations import SqlRotations
