"""Users, service accounts among them.

Keycloak: UserRepresentation. `document` keeps what has no typed field.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from gateway.domain.unique_names import unicode_domain

PRIORITY_STEP: Final = 10
"""Between the priorities of two credentials that follow each other."""
MOST_CREDENTIALS: Final = 100
"""Of one user. Sign-ins read them all, pages and lists show them all."""
PASSWORD: Final = "password"  # noqa: S105 - the type of a credential
FORMER_PASSWORD: Final = "password-history"  # noqa: S105 - the type of a credential
PASSWORD_TYPES: Final = frozenset({PASSWORD, FORMER_PASSWORD})
SERVICE_ACCOUNT_PREFIX: Final = "service-account-"
"""How user names of service accounts begin; the name of the client follows."""
_MOST_SOUGHT: Final = 1024


def canonical_name(name: str) -> str:
    """Return the form in which user names and e-mail addresses are kept and looked up.

    Capitals make no difference, nor does how an accent was composed (RFC 8265 §3.3), nor the form
    of the domain of an address: `xn--bcher-kva.example` is kept as `bücher.example`.
    """
    lower = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).lower())
    local, at, domain = lower.rpartition("@")
    return f"{local}@{unicode_domain(domain)}" if at else lower


def sought_name(given: str) -> str:
    """Return the canonical form of a name from a request, of any length.

    Ordering accents takes long for long names, so they are cut: no character is composed of more
    than four, so that no stored name has more than 1024.
    """
    return canonical_name(given[:_MOST_SOUGHT])


@dataclass(frozen=True, slots=True)
class User:
    """A user; `username` in lower case, `service_account_client`: internal id of its client."""

    id: str
    realm_id: str
    username: str
    enabled: bool
    created_at: datetime
    email: str | None = None
    email_verified: bool = False
    first_name: str | None = None
    last_name: str | None = None
    service_account_client: str | None = None
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    required_actions: tuple[str, ...] = ()
    """What the user must do before a sign-in succeeds, such as UPDATE_PASSWORD."""
    not_before: int = 0
    """Tokens issued earlier are rejected; seconds since 1970."""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    added_at: datetime | None = field(default=None, compare=False)
    """When the store added the user; None before that. No file and no administrator sets it."""

    @property
    def exists_since(self) -> datetime:
        """When this user came into being, as opposed to a former user with the same id."""
        return self.added_at or self.created_at

    @property
    def locale(self) -> str:
        """The language that the user reads, empty where none is set."""
        return next(iter(self.attributes.get("locale", ())), "")


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential in Keycloak's two JSON strings: parameters, and hash and salt."""

    id: str
    user_id: str
    type: str
    created_at: datetime
    credential_data: str
    secret_data: str = field(repr=False)
    priority: int = 10
    label: str | None = None
    """What its user calls it."""
    set_at: datetime | None = field(default=None, compare=False)
    """When a gateway stored it; None before that. No file and no administrator sets it."""

    @property
    def valid_since(self) -> datetime:
        """When the user got it; a stronger hash or a used code does not change that."""
        return self.set_at or self.created_at

    @property
    def aged_since(self) -> datetime:
        """When its age begins: a file may name an earlier date, and no later one."""
        return min(self.created_at, self.valid_since)


def last_priority(held: Iterable[Credential]) -> int:
    """Return the priority of the credential that the user prefers least; 0 without one."""
    return max((one.priority for one in held), default=0)


def next_priority(held: Iterable[Credential]) -> int:
    """Return the priority of a new credential, which comes after those that the user has."""
    return last_priority(held) + PRIORITY_STEP


@dataclass(frozen=True, slots=True)
class UserQuery:
    """Which users are meant; every field narrows. Keycloak: GET users.

    `search` is a prefix of username, e-mail address or a name; `*` stands for anything, quotes
    for the whole. The other texts are part of their field, the whole of it where `exact`.
    """

    search: str | None = None
    username: str | None = None
    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    enabled: bool | None = None
    email_verified: bool | None = None
    exact: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    """`q`: values by attribute name."""
    created_from: datetime | None = None
    created_until: datetime | None = None
    """The first instant that is too late."""
