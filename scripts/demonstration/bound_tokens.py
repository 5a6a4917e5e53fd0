"""A device, its certificate, and a token that is of no use to a thief.

Spec: RFC 8705 §3, RFC 7662 §2, RFC 7515 §5.2
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jwt

from scripts.demonstration.gateway import (
    HTTP_OK,
    SERVICE,
    TOKEN,
    UNAUTHORIZED,
    Answer,
    Gateway,
)
from scripts.demonstration.terminal import Terminal

INTROSPECT = TOKEN + "/introspect"
KEY_SET = "/protocol/openid-connect/certs"
NOT_BOUND = "Client certificate missing, or its thumbprint and one in the token did NOT match"

Claims = Mapping[str, Any]


def demonstrate_bound_tokens(gateway: Gateway, terminal: Terminal) -> None:
    """Run the steps, the later ones only with a token in hand."""
    token = obtain(gateway, terminal)
    if token is None:
        return
    verify(gateway, terminal, token)
    ask(gateway, terminal, token)
    steal(gateway, terminal, token)
    misuse_a_secret(gateway, terminal)


def obtain(gateway: Gateway, terminal: Terminal) -> str | None:
    """Ask for a token with nothing but a certificate, and show what is in it."""
    terminal.heading("device-1 requests a token with only its certificate")
    terminal.line(f"POST {gateway.mtls}{gateway.realm}{TOKEN}")
    answer = gateway.token("device-1")
    token = answer.document.get("access_token")
    if answer.status != HTTP_OK or not isinstance(token, str):
        terminal.check(False, str(answer.status), answer.error)
        return None
    lifetime = answer.document["expires_in"]
    terminal.check(True, "200", f"a token for {gateway.client_id}, valid for {lifetime} s")
    terminal.line("header")
    for name, value in jwt.get_unverified_header(token).items():
        terminal.field(name, value)
    terminal.line("claims")
    for name, value in _unverified(token).items():
        terminal.field(name, _readable(name, value), "the binding" if name == "cnf" else "")
    return token


def verify(gateway: Gateway, terminal: Terminal, token: str) -> None:
    """Check the token as a resource server would: by the published keys alone."""
    terminal.heading("Any service can verify it with the realm's published keys")
    terminal.line(f"GET {gateway.https}{gateway.realm}{KEY_SET}")
    header = jwt.get_unverified_header(token)
    issuer = gateway.https + gateway.realm
    keys = jwt.PyJWKSet.from_dict(gateway.get(KEY_SET).document)
    try:
        claims = jwt.decode(
            token,
            keys[header["kid"]],
            algorithms=[header["alg"]],
            issuer=issuer,
            audience=gateway.client_id,
            options={"require": ["exp", "iat", "iss", "aud"]},
        )
    except (jwt.PyJWTError, KeyError) as error:
        terminal.check(False, "token", f"{type(error).__name__}: {error}")
        return
    left = claims["exp"] - int(datetime.now(UTC).timestamp())
    terminal.check(True, "signature", f"{header['alg']}, by a key of the set")
    terminal.check(True, "issuer", issuer)
    terminal.check(True, "expiry", f"in {left} s")
    bound_to = claims.get("cnf", {}).get("x5t#S256")
    terminal.check(
        bound_to == gateway.thumbprint("device-1"),
        "binding",
        "cnf is the SHA-256 of device-1.crt, computed here",
    )


def ask(gateway: Gateway, terminal: Terminal, token: str) -> None:
    """Introspect as those whom the token concerns."""
    terminal.heading("The gateway confirms it to the clients in its audience")
    terminal.line(f"POST {gateway.mtls}{gateway.realm}{INTROSPECT}")
    own = gateway.post(
        gateway.mtls, INTROSPECT, "device-1", client_id=gateway.client_id, token=token
    )
    terminal.check(
        own.document.get("active") is True,
        "active",
        f"to {gateway.client_id} with the same certificate",
    )
    service = _as_service(gateway, gateway.https, INTROSPECT, None, token=token)
    if service.status == UNAUTHORIZED:
        terminal.check(
            False,
            "refused",
            f"{SERVICE}: {service.error}",
            f"Is its secret in {gateway.secret_file}? scripts/run writes it when it starts.",
        )
        return
    terminal.check(
        service.document.get("active") is True and "cnf" in service.document,
        "active",
        f"to {SERVICE}, a resource server in the audience, by its secret:",
        "it receives cnf and compares it with the certificate of its own caller.",
    )


def steal(gateway: Gateway, terminal: Terminal, token: str) -> None:
    """Try the token from the wrong hands."""
    terminal.heading("The same token from another client is refused")
    other = gateway.post(
        gateway.mtls, INTROSPECT, "device-2", client_id=gateway.client_id, token=token
    )
    _refused(
        terminal,
        other,
        f"device-2 says it is {gateway.client_id}",
        "Its certificate is valid, but the subject is not the one registered.",
    )
    nobody = gateway.post(gateway.https, INTROSPECT, None, client_id=gateway.client_id, token=token)
    _refused(
        terminal,
        nobody,
        "a caller without any certificate",
        f"{gateway.client_id} has no other way to authenticate.",
    )
    outside = gateway.post(gateway.mtls, INTROSPECT, None, client_id=gateway.client_id, token=token)
    _refused(
        terminal,
        outside,
        "the same at the listener for devices",
        "nginx refuses callers without a certificate; the gateway never gets the request.",
        status=400,
    )
    stranger = gateway.post(
        gateway.mtls, INTROSPECT, "device-2", client_id="demo-device-2", token=token
    )
    terminal.check(
        stranger.status == HTTP_OK and stranger.document == {"active": False},
        "inactive",
        "device-2 as itself, demo-device-2",
        "200, active: false",
        "The token's audience does not name it, so it learns nothing at all.",
    )


def misuse_a_secret(gateway: Gateway, terminal: Terminal) -> None:
    """Present a bound token with the right secret and the wrong certificate."""
    terminal.heading("A stolen secret does not help: the token is bound to the certificate")
    answer = _as_service(gateway, gateway.mtls, TOKEN, "device-1", grant_type="client_credentials")
    bound = answer.document.get("access_token", "")
    terminal.check(
        "cnf" in (_unverified(bound) if bound else {}),
        "bound",
        f"a token for {SERVICE}, got by its secret, bound to device-1's certificate",
    )
    thief = _as_service(gateway, gateway.mtls, INTROSPECT, "device-2", token=bound)
    _refused(
        terminal,
        thief,
        "right secret, right token, but device-2's certificate",
        "The thumbprint in the token is not that of the certificate shown.",
        error=f"invalid_token: {NOT_BOUND}",
    )


def _as_service(gateway: Gateway, url: str, path: str, device: str | None, **form: str) -> Answer:
    secret = gateway.service_secret
    return gateway.post(url, path, device, client_id=SERVICE, client_secret=secret, **form)


def _refused(
    terminal: Terminal,
    answer: Answer,
    who: str,
    why: str,
    *,
    status: int = UNAUTHORIZED,
    error: str | None = None,
) -> None:
    passed = answer.status == status and bool(answer.error) and error in {None, answer.error}
    terminal.check(passed, "refused", who, f"{answer.status}, {answer.error}", why)


def _unverified(token: str) -> Claims:
    claims: Claims = jwt.decode(token, options={"verify_signature": False})
    return claims


def _readable(name: str, value: object) -> object:
    if name in {"exp", "iat"} and isinstance(value, int):
        return f"{value}  {datetime.fromtimestamp(value, UTC):%H:%M:%S} UTC"
    return value
