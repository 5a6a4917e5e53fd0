"""Access tokens for mail servers that take no password (XOAUTH2). Spec: RFC 6749 §4.4.

Keycloak: 8.1 (smtpServer)
"""

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from gateway.domain.clock import Clock
from gateway.domain.limits.caches import SizedCache
from gateway.domain.mail import MailNotSent, TokenRequest
from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable
from gateway.outgoing.http_client import GuardedHttpClient

_FORM: Final = "application/x-www-form-urlencoded"
_LEEWAY: Final = timedelta(seconds=30)
"""Time before its expiration at which a token is replaced."""
_SHORT: Final = timedelta(seconds=60)
"""The lifetime of a token without `expires_in`, as in Keycloak."""
_LONGEST: Final = timedelta(hours=1)
_MOST_SECONDS: Final = 1_000_000
_MOST_BYTES: Final = 1024 * 1024
_TOKEN: Final = re.compile(r"[!-~]{1,16384}")


@dataclass(frozen=True, slots=True)
class _Token:
    text: str = field(repr=False)
    until: datetime


class ClientCredentialsTokens:
    """MailTokens by the guarded HTTP client."""

    def __init__(self, client: GuardedHttpClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: SizedCache[Hashable, _Token] = SizedCache(_MOST_BYTES)

    async def get(self, request: TokenRequest) -> str:
        now, key = self._clock.now(), _key(request)
        known = self._known.get(key)
        if known is None or known.until <= now:
            known = _parsed(await self._requested(request), now)
            self._known.put(key, known)
        return known.text

    def discard(self, request: TokenRequest) -> None:
        self._known.put(_key(request), _Token("", self._clock.now()))

    async def _requested(self, request: TokenRequest) -> bytes:
        form = {
            "grant_type": "client_credentials",
            "client_id": request.client_id,
            "client_secret": request.client_secret.reveal(),
            **({"scope": request.scope} if request.scope else {}),
        }
        try:
            response = await self._client.post(request.url, urlencode(form).encode(), _FORM)
        except DocumentUnavailable as failure:
            raise MailNotSent(f"smtpServer.authTokenUrl: {failure}") from failure
        if response.status != HTTPStatus.OK:
            raise MailNotSent(f"smtpServer.authTokenUrl answered with {response.status}")
        return response.body


def _key(request: TokenRequest) -> Hashable:
    return (request.url, request.client_id, request.scope, request.client_secret.reveal())


def _parsed(body: bytes, now: datetime) -> _Token:
    """Return the token of a response; raises MailNotSent, which quotes nothing of it."""
    try:
        document: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    text = document.get("access_token") if isinstance(document, dict) else None
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise MailNotSent("smtpServer.authTokenUrl answered without an access token")
    return _Token(text, now + max(_lifespan(document) - _LEEWAY, timedelta()))


def _lifespan(document: dict[str, Any]) -> timedelta:
    seconds = document.get("expires_in")
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return _SHORT
    return min(timedelta(seconds=min(max(seconds, 0), _MOST_SECONDS)), _LONGEST)
