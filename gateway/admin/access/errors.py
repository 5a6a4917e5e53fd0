"""Refusals of the admin API. Keycloak: error-body families A, B and C.

AdminRefusal
├── NotAuthenticated    no token, or one that must not be believed
├── Forbidden           a caller who lacks the role
├── Missing             nothing of that name or id; the text is public
├── MissingPart         what a document names does not exist; the text is public
├── UnknownPage         `first` or `max` that is no number: Keycloak answers 404
├── Refused             what was asked for makes no sense here; the text is public
├── BadRequest          the same, where Keycloak answers with an HTTP exception: family B
├── RefusedByCode       the same, where Keycloak answers as OAuth does: family A
├── NotAcceptable       an answer of a kind that is not made here; the text is public
├── TooMany             a listing larger than one answer may be, a search that costs too much
├── MalformedBody       a body that is no JSON, or JSON of another kind than is wanted
├── PreconditionFailed  If-Match names another state than there is
└── NotHere             a feature of Keycloak that this version has not; the text is public
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


class MissingPart(AdminRefusal):
    """What the document of a request names does not exist; `str()` is Keycloak's public text."""


class UnknownPage(AdminRefusal):
    """A page that is no number; `str()` names the parameter, for logs only."""


class Refused(AdminRefusal):
    """A request that cannot be done; `str()` is public."""


class BadRequest(AdminRefusal):
    """A request that cannot be done; `str()` is public, and told in family B."""


class RefusedByCode(AdminRefusal):
    """A request that cannot be done, told as OAuth does: a code, and `str()` as its description.

    `conflict` tells of a name that is taken.
    """

    def __init__(self, code: str, text: str, *, conflict: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.conflict = conflict


class NotAcceptable(AdminRefusal):
    """An answer of a kind that is not made here; `str()` is public."""


class TooMany(AdminRefusal):
    """More than one answer may hold, or one search may ask for; `str()` is public."""


class MalformedBody(AdminRefusal):
    """A body that cannot be read; `str()` says where, for logs only.

    `shape` tells of JSON that is well-formed and of another kind than is wanted.
    """

    def __init__(self, reason: str, *, shape: bool = False) -> None:
        super().__init__(reason)
        self.shape = shape


class PreconditionFailed(AdminRefusal):
    """The entity is not as the caller knew it."""


class NotHere(AdminRefusal):
    """A feature that is left out; `str()` is public."""
