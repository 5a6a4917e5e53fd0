"""The one place where an exception becomes a response.

The public part of an exception goes to the caller, everything else to the log with the request's
id. Keycloak: 0.2 error bodies; Spec: RFC 6749 §5.2, RFC 9110 §10.2.3 (Retry-After)
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from structlog.typing import FilteringBoundLogger

from gateway.domain.errors import (
    AlreadyExists,
    InvalidInput,
    Overloaded,
    RealmNotFound,
    StoreUnavailable,
    UnusableSetting,
)
from gateway.domain.ports.client_keys import PROOF_ALGORITHMS
from gateway.domain.refusals import (
    ApiRefusal,
    Forbidden,
    InsufficientLevel,
    InvalidRequest,
    MailFailed,
    MalformedBody,
    MissingPart,
    MissingRights,
    NotAcceptable,
    NotAuthenticated,
    NotFound,
    NotSupported,
    PreconditionFailed,
    TooMany,
    UnknownPage,
    WireFamily,
    WrongClient,
)
from gateway.http.edge import EdgeRefusal
from gateway.http.exchange import Exchange
from gateway.http.forms import FormRefused
from gateway.http.replies import Headers, Reply, json_reply, oauth_error, prose_error
from gateway.password_policies import PasswordRefused
from gateway.protocol.errors import BearerChallenge, OAuthError, ProofRefused
from gateway.protocol.requests import OriginRefused
from gateway.representations.refusals import UnknownField
from gateway.representations.user_profile import ProfileViolated

WRONG_CONTENT_TYPE: Final = "The content-type header value did not match the value in @Consumes"
_CHANGED_SINCE: Final = "It has changed since it was read: read it again"
UNPARSED: Final = "Cannot parse the JSON"
UNMATCHED: Final = "Unable to find matching target resource method"


class MethodNotAllowed(Exception):
    """The URL does not have this method; `allowed` are the methods that it has."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(", ".join(allowed))
        self.allowed = allowed


def allow_header(methods: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Return the header with the methods of a URL. Spec: RFC 9110 §10.2.1."""
    return b"allow", ", ".join((*methods, "OPTIONS")).encode("ascii")


async def answered(
    handling: Awaitable[Reply],
    exchange: Exchange,
    log: FilteringBoundLogger,
    present: Callable[[Exception, Reply, Exchange], Awaitable[Reply]],
) -> Reply:
    """Return the reply, or what `present` makes of the one for its exception."""
    try:
        return await handling
    except Exception as error:  # noqa: BLE001 - the boundary: no stack trace may leave
        return await present(error, reply_for(error, exchange, log), exchange)


def reply_for(error: Exception, exchange: Exchange, log: FilteringBoundLogger) -> Reply:
    """Return the documented response for any exception, and set the reason in the log line."""
    reply = _known(error, exchange.log.realm or "")
    if reply is not None:
        if exchange.log.reason is None:
            exchange.log.reason = str(error)
        return reply
    log.error("unhandled", request_id=exchange.request_id, exc_info=error)
    return oauth_error(
        "unknown_error",
        "For more on this error consult the server log.",
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
    )


def _known(error: Exception, realm: str) -> Reply | None:
    match error:
        case BearerChallenge() | ProofRefused():
            return _challenged(error, realm)
        case OAuthError():
            headers = (*_nonce(error), *_retry_after(error.retry_after))
            return oauth_error(error.error, error.description, status=error.status, headers=headers)
        case ApiRefusal():
            return _refused_administration(error)
        case AlreadyExists() | InvalidInput() | UnusableSetting():
            return _refused_input(error)
        case RealmNotFound() | OriginRefused():
            return _refused_address(error)
        case FormRefused():
            return _refused_form(error)
        case MethodNotAllowed():
            return prose_error(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "HTTP 405 Method Not Allowed",
                (allow_header(error.allowed),),
            )
        case EdgeRefusal():
            return oauth_error("invalid_request", error.public_text)
        case StoreUnavailable() | Overloaded():
            return _unavailable(error)
        case _:
            return None


def _refused_address(error: RealmNotFound | OriginRefused) -> Reply:
    match error:
        case RealmNotFound():
            return prose_error(HTTPStatus.NOT_FOUND, "Realm does not exist")
        case OriginRefused():
            return prose_error(HTTPStatus.FORBIDDEN, "Invalid origin")


def _refused_input(error: AlreadyExists | InvalidInput | UnusableSetting) -> Reply:
    match error:
        case AlreadyExists():
            return _explained(HTTPStatus.CONFLICT, str(error))
        case PasswordRefused():
            return oauth_error(error.key, error.text)
        case ProfileViolated():
            return json_reply(error.document, status=HTTPStatus.BAD_REQUEST)
        case UnknownField():
            return prose_error(HTTPStatus.BAD_REQUEST, _unrecognized(error))
        case InvalidInput() if error.mistyped:
            return _mistyped(error)
        case InvalidInput() if error.is_conflict:
            return _explained(HTTPStatus.CONFLICT, str(error))
        case _:
            return _explained(HTTPStatus.BAD_REQUEST, str(error))


def _mistyped(error: InvalidInput) -> Reply:
    """Return Keycloak's refusal, which names no field, and with it what is wrong."""
    document = {"error": "unknown_error", "error_description": UNPARSED, "errorMessage": str(error)}
    return json_reply(document, status=HTTPStatus.BAD_REQUEST)


def _unrecognized(error: UnknownField) -> str:
    wrong = f"Invalid json representation for {error.representation}"
    return f'{wrong}. Unrecognized field "{error.name}" at {error.errors[0].path}.'


def _explained(status: HTTPStatus, text: str) -> Reply:
    """Return an error of family C: `{"errorMessage": "<prose>"}`."""
    return json_reply({"errorMessage": text}, status=status)


_FORBIDDEN: Final = "HTTP 403 Forbidden"
_REFUSALS: Final = (
    (NotAuthenticated, prose_error, HTTPStatus.UNAUTHORIZED, "HTTP 401 Unauthorized"),
    (Forbidden, prose_error, HTTPStatus.FORBIDDEN, _FORBIDDEN),
    (InsufficientLevel, prose_error, HTTPStatus.FORBIDDEN, None),
    (WrongClient, prose_error, HTTPStatus.FORBIDDEN, None),
    (UnknownPage, prose_error, HTTPStatus.NOT_FOUND, "HTTP 404 Not Found"),
    (NotFound, prose_error, HTTPStatus.NOT_FOUND, None),
    (NotAcceptable, prose_error, HTTPStatus.NOT_ACCEPTABLE, None),
    (MissingPart, _explained, HTTPStatus.NOT_FOUND, None),
    (TooMany, _explained, HTTPStatus.BAD_REQUEST, None),
    (PreconditionFailed, _explained, HTTPStatus.PRECONDITION_FAILED, _CHANGED_SINCE),
)
"""Error, family, status and text; None is the text of the error, which is public then."""


def _refused_administration(error: ApiRefusal) -> Reply | None:
    match error:
        case MalformedBody():
            name = "unknown_error" if error.shape else "invalid_request"
            return oauth_error(name, UNPARSED)
        case InvalidRequest():
            return _invalid_request(error)
        case MailFailed():
            return _explained(HTTPStatus.INTERNAL_SERVER_ERROR, error.text)
        case NotSupported():
            return oauth_error("Feature not enabled", str(error), status=HTTPStatus.NOT_IMPLEMENTED)
        case MissingRights():
            return oauth_error(_FORBIDDEN, str(error), status=HTTPStatus.FORBIDDEN)
    for kind, family, status, text in _REFUSALS:
        if isinstance(error, kind):
            return family(status, str(error) if text is None else text)
    return None


def _invalid_request(error: InvalidRequest) -> Reply:
    status = HTTPStatus.CONFLICT if error.conflict else HTTPStatus.BAD_REQUEST
    match error.family:
        case WireFamily.OAUTH:
            return oauth_error(error.code, str(error), status=status)
        case WireFamily.PROSE:
            return prose_error(status, str(error))
        case WireFamily.MESSAGE:
            return _explained(status, str(error))


def _refused_form(error: FormRefused) -> Reply:
    if error.status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
        return prose_error(error.status, WRONG_CONTENT_TYPE)
    return oauth_error("invalid_request", error.description, status=error.status)


def _challenged(error: BearerChallenge | ProofRefused, realm: str) -> Reply:
    match error:
        case ProofRefused():
            return _proof_refused(error, realm)
        case BearerChallenge():
            return _bearer_challenge(error, realm)


def _bearer_challenge(error: BearerChallenge, realm: str) -> Reply:
    parts = [f'realm="{realm}"']
    if error.error:
        parts += [f'error="{error.error}"', f'error_description="{error.description}"']
    challenge = f"Bearer {', '.join(parts)}".encode("latin-1", "replace")
    plain = (b"content-type", b"text/plain;charset=utf-8")
    return Reply(error.status, (plain, (b"www-authenticate", challenge)))


def _proof_refused(error: ProofRefused, realm: str) -> Reply:
    challenge = proof_challenge(realm, error.error, error.description or "")
    named = (b"www-authenticate", challenge.encode("latin-1", "replace"))
    headers = (named, *_nonce(error))
    return oauth_error(error.error, error.description, status=error.status, headers=headers)


def _nonce(error: OAuthError) -> Headers:
    return () if error.nonce is None else (nonce_header(error.nonce),)


def nonce_header(nonce: str) -> tuple[bytes, bytes]:
    """Return the header with the nonce for the next proof. Spec: RFC 9449 §8.1."""
    return b"dpop-nonce", nonce.encode("ascii")


def proof_challenge(realm: str, error: str, description: str) -> str:
    """Return the challenge for a DPoP-bound token. Spec: RFC 9449 §7.1."""
    algorithms = " ".join(PROOF_ALGORITHMS)
    refusal = f'error="{error}", error_description="{description}"'
    return f'DPoP realm="{realm}", {refusal}, algs="{algorithms}"'


def _unavailable(error: StoreUnavailable | Overloaded) -> Reply:
    return oauth_error(
        "temporarily_unavailable",
        "The service cannot answer at the moment, try again shortly",
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        headers=_retry_after(error.retry_after),
    )


def _retry_after(delay: timedelta | None) -> Headers:
    if delay is None:
        return ()
    return ((b"retry-after", str(max(1, round(delay.total_seconds()))).encode()),)
