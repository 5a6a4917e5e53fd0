"""Families of refresh tokens: each use retires a token and names its successor.

Spec: RFC 9700 §4.14; Keycloak: 2.4
"""

from enum import StrEnum


class Rotation(StrEnum):
    """The result of presenting a token to its family."""

    ACCEPTED = "accepted"
    """Its turn, or within the allowed reuse; the successor is known to the family."""
    REUSED = "reused"
    """The current token, used more often than allowed: the family is at an end."""
    STALE = "stale"
    """A token that was retired before, or of a family at an end: so is the family."""
