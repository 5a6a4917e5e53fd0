"""JSON of sessions."""

from gateway.representations.sessions.user_session import write_session
