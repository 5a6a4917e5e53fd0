"""User sessions, how long they last, and families of refresh tokens."""

from gateway.domain.sessions.devices import (
    DEVICE_NOTE,
    OTHER,
    UNKNOWN,
    Device,
    device_notes,
    device_of,
    noted_device,
)
from gateway.domain.sessions.lifespans import (
    access_tokens_end_at,
    client_session_ends_at,
    has_lasting_part,
    if_lasting,
    longest_client_session,
    session_ends_at,
    session_maximum_ends_at,
)
from gateway.domain.sessions.refresh_families import RefreshFamily, Rotation
from gateway.domain.sessions.session import ClientSession, UserSession
