"""Refusals of the admin API. Keycloak: error-body family B.

AdminRefusal
├── NotAuthenticated    no token, or one that must not be believed
├── Forbidden           a caller who lacks the role
├── Missing             no realm or user of that name; the text is public
└── TooMany             a listing larger than one answer may be, a search that costs too much
"""

from gateway.domain.errors import RealmgateError


class AdminRefusal(RealmgateError):
    """A refusal of an administrative request."""


class NotAuthenticated(AdminRefusal):
    """Nobody is known to ask; `str()` is the reason, for logs only."""


class Forbidden(AdminRefusal):
    """The caller may not do this; `str()` says what it would take, for logs only."""


class Missing(AdminRefusal):
    """What the URL names does not exist; `str()` is Keycloak's public text."""


class TooMany(AdminRefusal):
    """More than one answer may hold, or one search may ask for; `str()` is public."""
