"""Sending mail."""

from typing import Protocol

from gateway.domain.mail import Mail, MailServer


class MailSender(Protocol):
    """Gives mails to mail servers."""

    async def send(self, server: MailServer, mail: Mail) -> None:
        """Return once the server has accepted the mail, within `MOST_TIME`; raises MailNotSent."""
