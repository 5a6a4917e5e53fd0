"""Offline sessions, refresh tokens and revocations in SQL."""

from gateway.storage.sql.sessions.offline_sessions import SqlOfflineSessions
from gateway.storage.sql.sessions.refresh_families import SqlRotations
from gateway.storage.sql.sessions.tokens import SqlRefreshTokens, SqlRevocations
