"""A service that believes Realmgate's tokens: read docs/protecting-a-service.md first.

Run it behind nginx, on a unix socket that nginx alone can reach:

    pip install starlette uvicorn 'pyjwt[crypto]' cryptography
    ISSUER=https://id.example.org/realms/demo AUDIENCE=demo-service \
        uvicorn --factory protected_service:from_environment --uds /run/service/service.sock

It answers GET /machine. Behind a private authority, set SSL_CERT_FILE to its certificate.
"""

import base64
import hashlib
import hmac
import logging
import os
from typing import Any
from urllib.parse import unquote

import jwt
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # what you expect, never what the token says
REQUIRED = ["exp", "iat", "iss", "aud", "sub"]
CERTIFICATE_HEADER = "ssl-client-cert"
LOG = logging.getLogger("uvicorn.error")


class KeysUnavailable(Exception):
    """The realm's keys cannot be fetched; the text is for the log."""


class Refused(Exception):
    """The request is not let in; the text is for the caller."""


class TokenCheck:
    """Decides whether a token is good for this service, in the hands of this caller."""

    def __init__(self, keys: jwt.PyJWKClient, issuer: str, audience: str) -> None:
        """Take the realm's published keys, its issuer, and this service's own name."""
        self._keys = keys
        self._issuer = issuer
        self._audience = audience

    def claims(self, request: Request) -> dict[str, Any]:
        """Return the claims; raises Refused, KeysUnavailable."""
        token = _bearer(request.headers.getlist("authorization"))
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=ALGORITHMS,
                issuer=self._issuer,
                audience=self._audience,
                options={"require": REQUIRED},
            )
        except jwt.PyJWKClientConnectionError as failure:
            raise KeysUnavailable(str(failure)) from failure
        except jwt.PyJWTError as wrong:
            raise Refused("the token is not valid here") from wrong
        if claims.get("typ") != "Bearer":
            raise Refused("this is no access token")  # an ID token, for example
        _check_binding(claims, request.headers.getlist(CERTIFICATE_HEADER))
        return claims


def _bearer(headers: list[str]) -> str:
    scheme, _, token = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not token:
        raise Refused("a bearer token is expected")
    return token


def _check_binding(claims: dict[str, Any], certificates: list[str]) -> None:
    """Compare the certificate of the connection with the one in the token. RFC 8705 §3."""
    bound_to = claims.get("cnf", {}).get("x5t#S256")
    if bound_to is None:
        raise Refused("a token that is bound to a certificate is expected")
    if len(certificates) != 1 or not certificates[0]:
        raise Refused("a client certificate is expected")
    try:
        certificate = x509.load_pem_x509_certificate(unquote(certificates[0]).encode())
    except ValueError as wrong:
        raise Refused("the client certificate cannot be read") from wrong
    digest = hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()
    thumbprint = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    if not hmac.compare_digest(thumbprint, str(bound_to)):
        raise Refused("the token is bound to another certificate")


def service(check: TokenCheck) -> Starlette:
    """Return a service with one endpoint, for holders of a good token."""

    async def machine(request: Request) -> JSONResponse:
        try:
            # The keys are fetched when they are not known, or have changed: off the event loop.
            claims = await run_in_threadpool(check.claims, request)
        except KeysUnavailable as failure:
            LOG.error("cannot verify tokens: %s", failure)  # noqa: TRY400 - the reason is enough
            return JSONResponse({"error": "temporarily_unavailable"}, status_code=503)
        except Refused as refused:
            LOG.warning("token refused: %s", refused.__cause__ or refused)  # never the token
            return JSONResponse(
                {"error": "invalid_token", "error_description": str(refused)},
                status_code=401,
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        return JSONResponse({"hello": claims["azp"]})

    return Starlette(routes=[Route("/machine", machine)])


def from_environment() -> Starlette:
    """Return the service as the environment says."""
    issuer, audience = os.environ["ISSUER"], os.environ["AUDIENCE"]
    keys = jwt.PyJWKClient(f"{issuer}/protocol/openid-connect/certs", lifespan=60)
    return service(TokenCheck(keys, issuer, audience))
