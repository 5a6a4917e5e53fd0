"""A request object adds its parameters, which count before those beside it.

It is signed by the client, or unsigned where the client may do that, and may be encrypted for the
realm. One at a URL must be registered. Spec: RFC 9101 §4, §6.1, §6.3, OpenID Connect Core §6.1,
§6.2; Keycloak: 12.10 authorization; attacks: C20
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.client_policies import VerifiedRequestObject
from gateway.domain.clients import ANY_ALGORITHM, UNSIGNED, Client
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.errors import InvalidToken
from gateway.domain.ports.client_keys import UnverifiedClaims
from gateway.domain.ports.outgoing import DocumentUnavailable
from gateway.protocol.authorization.errors import PageError, invalid_request_page
from gateway.protocol.authorization.request import PARAMETERS, AuthorizationDraft, text_of

_DOTS_OF_JWE: Final = 4
_ABOUT_THE_OBJECT: Final = frozenset({"request", "request_uri"})


@dataclass(frozen=True, slots=True)
class _AcceptedObject(VerifiedRequestObject):
    """Created by `_verified` alone."""


async def check_request_object(draft: AuthorizationDraft) -> None:
    """Merge the parameters of the request object; raises PageError."""
    if draft.pushed_reference is not None:
        return
    sent = [name for name in ("request", "request_uri") if draft.parameters.get(name) is not None]
    if len(sent) > 1:
        raise _refused("Illegal to use both 'request' and 'request_uri' parameters together")
    client = draft.client.client
    allowed = client.request_objects.allowed_parameters
    if allowed and not set(sent) & set(allowed):
        names = " or ".join(f"'{name}'" for name in allowed)
        raise invalid_request_page(f"Client is required to use {names} parameter.")
    if not sent:
        return
    if sent[0] in draft.request.parameters.repeated_names:
        raise _refused(f"'{sent[0]}' is present multiple times")
    token = (
        await _object_at(draft, client)
        if sent == ["request_uri"]
        else draft.parameters.get("request")
    )
    accepted = await _verified(draft, client, token or "")
    draft.request_object = accepted if isinstance(accepted, VerifiedRequestObject) else None
    claims = accepted.claims
    own = {name: text_of(claims[name]) for name in PARAMETERS if name in claims}
    outer = {name: text for name, text in draft.parameters.items() if name not in own}
    merged = {**outer, **{name: text for name, text in own.items() if text is not None}}
    draft.parameters = {name: merged[name] for name in merged if name not in _ABOUT_THE_OBJECT}


async def _object_at(draft: AuthorizationDraft, client: Client) -> str:
    uri = draft.parameters.get("request_uri") or ""
    if not any(_is_registered(uri, each) for each in client.request_objects.uris):
        raise _refused("Specified 'request_uri' not allowed for this client.")
    try:
        return (await draft.services.documents.fetch(uri.partition("#")[0])).decode("ascii").strip()
    except (DocumentUnavailable, UnicodeDecodeError) as error:
        raise _refused(f"The request object was not fetched: {error}") from error


def _is_registered(uri: str, registered: str) -> bool:
    if registered.endswith("*"):
        return uri.startswith(registered[:-1]) and "/" in registered.partition("://")[2]
    return uri.partition("#")[0] == registered.partition("#")[0]


async def _verified(
    draft: AuthorizationDraft, client: Client, token: str
) -> VerifiedRequestObject | UnverifiedClaims:
    """Return the object; UnverifiedClaims where it says that it has no signature."""
    signatures = draft.services.signatures
    try:
        is_encrypted = token.count(".") == _DOTS_OF_JWE
        if is_encrypted:
            token = _decrypted(draft, client, token)
        is_signed = signatures.read_claims(token).algorithm != UNSIGNED
        unsigned = None if is_signed else signatures.read_unsigned(token)
        said = unsigned or await signatures.verify_claims(client, token)
    except InvalidToken as error:
        raise _refused(f"Invalid request object: {error}") from error
    wanted = client.request_objects.algorithm
    if wanted not in {"", ANY_ALGORITHM, said.algorithm}:
        raise _refused(f"Request object signed with {said.algorithm}, {wanted} is required")
    _require_sense(draft, client, said.claims)
    return unsigned or _AcceptedObject(said.algorithm, said.claims, is_encrypted=is_encrypted)


def _decrypted(draft: AuthorizationDraft, client: Client, token: str) -> str:
    """Return the JWS in a JWE that was encrypted for the realm; raises InvalidToken."""
    content, used = draft.request.realm.key_ring.decrypt(token, draft.request.now)
    wanted = client.request_objects
    for name, chosen, sent in (
        ("alg", wanted.encryption, used.algorithm),
        ("enc", wanted.content_encryption, used.content),
    ):
        if chosen not in {"", ANY_ALGORITHM, sent}:
            raise InvalidToken(f"{name} is {sent}, the client must use {chosen}")
    try:
        return content.decode("ascii")
    except UnicodeDecodeError as error:
        raise InvalidToken("the encrypted content is not a signed JWT") from error


def _require_sense(draft: AuthorizationDraft, client: Client, claims: Mapping[str, Any]) -> None:
    """Check that the object is this client's, for this realm, and valid now. RFC 9101 §4."""
    if claims.get("client_id", client.client_id) != client.client_id:
        raise _refused("The client_id of the request object is another client's")
    if claims.get("iss", client.client_id) != client.client_id:
        raise _refused("The request object was issued by another client")
    audience = claims.get("aud", draft.request.issuer)
    if draft.request.issuer not in (audience if isinstance(audience, list) else [audience]):
        raise _refused("The request object is for another audience")
    if _ABOUT_THE_OBJECT & claims.keys():
        raise _refused("A request object must not contain request or request_uri")
    now, leeway = draft.request.now.timestamp(), CLOCK_LEEWAY.total_seconds()
    if not _at(claims, "nbf", now) - leeway <= now < _at(claims, "exp", now + 1):
        raise _refused("The request object is not valid now")


def _at(claims: Mapping[str, Any], name: str, default: float) -> float:
    value = claims.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(f"The claim {name} of the request object is no number")
    return float(value)


def _refused(reason: str) -> PageError:
    return invalid_request_page(reason, error="invalid_request_object")
