"""Refusals of the admin and account APIs. Keycloak: error-body families A, B and C.

ApiRefusal
├── NotAuthenticated    no token, or an invalid one; the text is for logs only
├── Forbidden           the caller lacks a role; the text names it, for logs only
│   └── MissingRights   the caller lacks rights of other accounts; the text names them, public
├── InsufficientLevel   the caller's sign-in had a lower level than the change asks for; public
├── WrongClient         the token was issued for another client than the endpoint's; public
├── NotFound            the URL names what does not exist; the text is Keycloak's, public
├── MissingPart         a document names what does not exist; the text is Keycloak's, public
├── UnknownPage         `first` or `max` is no number: Keycloak answers 404; for logs only
├── InvalidRequest      a request that cannot be done, in one of the families; the text is public
├── NotAcceptable       a media type that is not produced here; the text is public
├── TooMany             a listing larger than an answer may be, a search that costs too much; public
├── MalformedBody       a body that is no JSON, or JSON of another kind; for logs only
├── PreconditionFailed  If-Match names another state than the stored one
├── MailFailed          a mail that the caller asked for was not sent; its text is public
└── NotSupported        a feature of Keycloak that this version does not support; public
"""

from enum import StrEnum

from gateway.domain.errors import RealmgateError


class ApiRefusal(RealmgateError):
    """A refusal of an administrative request."""


class NotAuthenticated(ApiRefusal):
    """The caller is not known."""


class Forbidden(ApiRefusal):
    """The caller may not do this."""


class MissingRights(Forbidden):
    """The caller lacks administrative roles that accounts of the realm can have."""


class InsufficientLevel(ApiRefusal):
    """The caller has not proven enough for this change."""


class WrongClient(ApiRefusal):
    """The token was issued for another client than the one that the endpoint serves."""


class NotFound(ApiRefusal):
    """The object of the URL does not exist."""


class MissingPart(ApiRefusal):
    """An object named in the body does not exist."""


class UnknownPage(ApiRefusal):
    """A page that is no number."""


class WireFamily(StrEnum):
    """The shapes of Keycloak's error bodies."""

    OAUTH = "error and error_description"
    PROSE = "error"
    MESSAGE = "errorMessage"


class InvalidRequest(ApiRefusal):
    """A bad request; `code` is the error of family OAUTH, `conflict` for a name in use."""

    def __init__(
        self,
        text: str,
        family: WireFamily = WireFamily.MESSAGE,
        *,
        code: str = "",
        conflict: bool = False,
    ) -> None:
        super().__init__(text)
        self.family = family
        self.code = code
        self.conflict = conflict


def duplicate_resource() -> InvalidRequest:
    """Return the refusal of an id, a name or a place in a list that is taken."""
    return InvalidRequest(
        "Duplicate resource error", WireFamily.OAUTH, code="conflict", conflict=True
    )


class NotAcceptable(ApiRefusal):
    """A media type that is not produced here."""


class TooMany(ApiRefusal):
    """More than one answer may hold, or one search may ask for."""


class MalformedBody(ApiRefusal):
    """A body that cannot be read; `shape` is set for valid JSON of another kind than expected."""

    def __init__(self, reason: str, *, shape: bool = False) -> None:
        super().__init__(reason)
        self.shape = shape


class PreconditionFailed(ApiRefusal):
    """The entity has changed since the caller read it."""


class MailFailed(ApiRefusal):
    """A mail that the caller asked for was not sent; `text` is public, `str()` is for logs."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(reason)
        self.text = text


class NotSupported(ApiRefusal):
    """An unsupported feature."""
