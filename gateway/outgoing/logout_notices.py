"""Sends logout tokens to clients. Spec: OpenID Connect Back-Channel Logout §2.5, §2.8."""

from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from gateway.domain.ports.outgoing.remote_documents import DocumentUnavailable, NoticeNotReceived
from gateway.outgoing.http_client import GuardedHttpClient

_FORM: Final = "application/x-www-form-urlencoded"
_RECEIVED: Final = frozenset({HTTPStatus.OK, HTTPStatus.NO_CONTENT})
"""Frameworks send 204 for an empty response."""


class HttpNoticeSender:
    """NoticeSender by the guarded HTTP client."""

    def __init__(self, client: GuardedHttpClient) -> None:
        self._client = client

    async def send(self, url: str, logout_token: str) -> None:
        content = urlencode({"logout_token": logout_token}).encode()
        try:
            response = await self._client.post(url, content, _FORM)
        except DocumentUnavailable as failure:
            raise NoticeNotReceived(str(failure)) from failure
        if response.status not in _RECEIVED:
            raise NoticeNotReceived(f"the client answered with {response.status}")
