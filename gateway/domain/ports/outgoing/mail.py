"""Sending mail."""

from typing import Protocol

from gateway.domain.mail import Mail, MailServer, TokenRequest


class MailSender(Protocol):
    """Gives mails to mail servers."""

    async def send(self, server: MailServer, mail: Mail) -> None:
        """Return once the server has accepted the mail, within `MOST_TIME`; raises MailNotSent."""


class MailTokens(Protocol):
    """Access tokens for mail servers, requested by the client credentials grant."""

    async def get(self, request: TokenRequest) -> str:
        """Return a token that is valid for some time; raises MailNotSent."""

    def discard(self, request: TokenRequest) -> None:
        """Request another token the next time: the mail server has refused this one."""
