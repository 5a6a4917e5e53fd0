"""Whose a thing is that expires, and where it is renewed: values, for texts in any language."""

from dataclasses import dataclass
from enum import StrEnum


class OwnerKind(StrEnum):
    """What an owner is; SETTINGS has no name."""

    CLIENT = "client"
    USER = "user"
    REALM = "realm"
    KEY = "key"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner; `name` is a public name, or the `kid` of a key."""

    kind: OwnerKind
    name: str = ""


class RenewalKind(StrEnum):
    """Where a thing is renewed, which says what the value of a `Renewal` is."""

    COMMAND = "command"
    """By a command of the gateway, the value."""
    SOURCE = "source"
    """In the files and at the URLs of the settings, the value."""
    ISSUER = "issuer"
    """At the issuer of the certificate, whose subject is the value."""
    CLIENT_ATTRIBUTES = "client-attributes"
    """In the attributes of the client that hold its certificates; no value."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """Where a thing is renewed."""

    kind: RenewalKind
    value: str = ""
