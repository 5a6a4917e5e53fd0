"""Requests to servers that others name: documents of clients, mail servers, webhooks.

A fetcher of request objects and key sets must keep callers from using the gateway to reach other
servers: https alone, no private addresses unless allowed, no redirects, limits of time and size.
attacks C20, C21
"""

from datetime import datetime, timedelta
from typing import Protocol

from gateway.domain.deliveries import WebhookDelivery
from gateway.domain.errors import RealmgateError
from gateway.domain.mail import Mail, MailServer, TokenRequest
from gateway.domain.realm import Webhook


class MailSender(Protocol):
    """Gives mails to mail servers."""

    async def send(self, server: MailServer, mail: Mail) -> None:
        """Return once the server has accepted the mail, within `MOST_TIME`; raises MailNotSent."""


class MailTokens(Protocol):
    """Access tokens for mail servers, requested by the client credentials grant."""

    async def get_token(self, request: TokenRequest) -> str:
        """Return a token that is valid for some time; raises MailNotSent."""

    def discard(self, request: TokenRequest) -> None:
        """Request another token the next time: the mail server has refused this one."""


class DocumentUnavailable(RealmgateError):
    """The document was not fetched; `str()` is the reason, for logs only."""


class RemoteDocuments(Protocol):
    """Fetches documents."""

    async def fetch(self, url: str, *, newest: timedelta | None = None) -> bytes:
        """Return a document no older than `newest`; raises DocumentUnavailable."""


class NoRemoteDocuments:
    """Fetches nothing, where the gateway has no fetcher."""

    async def fetch(self, url: str, *, newest: timedelta | None = None) -> bytes:  # noqa: ARG002
        raise DocumentUnavailable("documents at URLs are not supported")


class NoticeNotReceived(RealmgateError):
    """The client did not confirm a notice; `str()` is the reason, for logs only."""


class NoticeSender(Protocol):
    """Sends logout tokens to clients."""

    async def send(self, url: str, logout_token: str) -> None:
        """Return once the client has accepted the token; raises NoticeNotReceived."""


class WebhookSender(Protocol):
    """Sends events to the webhooks of realms."""

    async def send(self, webhook: Webhook, delivery: WebhookDelivery, now: datetime) -> None:
        """Return once the receiver has confirmed the event; raises WebhookNotReceived."""
