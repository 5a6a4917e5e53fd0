"""PostgreSQL: synchronous commit; readers in one read-only snapshot; slow statements are ended.

Source: https://www.postgresql.org/docs/15/runtime-config-client.html
"""

from dataclasses import dataclass
from datetime import timedelta

import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types

from gateway.storage.sql.address import PostgresServer
from gateway.storage.sql.asynchronous import create_async_engine
from gateway.storage.sql.limits import Engines, Limits
from gateway.storage.sql.postgresql_questions import PostgresQuestions

_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


@dataclass(frozen=True, slots=True)
class _Connector:
    """Opens connections; SQLAlchemy never sees the address with its password."""

    server: PostgresServer
    limits: Limits
    read_only: bool = False

    async def __call__(self) -> "asyncpg.Connection[asyncpg.Record]":
        milliseconds = str(self.limits.statement // timedelta(milliseconds=1))
        try:
            return await asyncpg.connect(
                self.server.dsn.reveal(),
                timeout=self.limits.connect.total_seconds(),
                # The server ends a slow statement; then we stop waiting for a mute server.
                command_timeout=self.limits.patience.total_seconds(),
                server_settings={
                    "application_name": "realmgate",
                    "synchronous_commit": "on",
                    "default_transaction_read_only": "on" if self.read_only else "off",
                    "statement_timeout": milliseconds,
                    "lock_timeout": milliseconds,
                    "idle_in_transaction_session_timeout": milliseconds,
                },
            )
        except ValueError:
            raise ConnectionError("the PostgreSQL address cannot be understood") from None


def create_engines(server: PostgresServer, limits: Limits) -> Engines:
    """Make the engines of a server, which share one pool; questions have connections apart."""
    engine = create_async_engine(
        "postgresql+asyncpg://",
        _Connector(server, limits),
        # A connection that died with the server is replaced before a request meets it.
        pool_pre_ping=True,
        **limits.pool(limits.connections),
    )
    asking, commanding = (_Connector(server, limits, read_only=only) for only in (True, False))
    return Engines(
        engine.execution_options(**_SNAPSHOT),
        engine,
        PostgresQuestions(asking, limits.lookups, limits.pool_wait),
        PostgresQuestions(commanding, limits.lookups, limits.pool_wait),
    )
