"""Live sessions of users and clients."""

from gateway.protocol.sessions.live import Joined, Sessions, is_part_over
