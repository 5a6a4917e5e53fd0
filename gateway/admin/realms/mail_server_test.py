"""A test of a mail server before its settings are stored. Keycloak: 7.1 (testSMTPConnection)."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import Acting, MailFailed
from gateway.domain.clock import Clock
from gateway.domain.mail import MailKind, MailNotSent, mail_server, user_mail
from gateway.domain.ports.outgoing.mail import MailSender
from gateway.domain.ports.storage import Database
from gateway.representations.realms import SmtpMap, keep_secrets

_FAILED: Final = "Failed to send email"


class MailServerTest:
    """Sends a mail to the caller, by settings that need not be stored."""

    def __init__(self, database: Database, sender: MailSender, clock: Clock) -> None:
        self._database = database
        self._sender = sender
        self._clock = clock

    async def run(self, acting: Acting, document: Mapping[str, Any]) -> None:
        """Send the mail; raises InvalidInput, and MailFailed with the reason for the log.

        A masked password is the stored one, if it is that of the same host.
        """
        settings = SmtpMap().read(document, "smtpServer")
        if acting.caller is None or not acting.caller.user.email:
            raise MailFailed(_FAILED, "the caller has no e-mail address")
        user, address = acting.caller.user, acting.caller.user.email
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name) or acting.realm
        mail = user_mail(realm, user, address, MailKind.TEST, self._clock.now())
        try:
            await self._sender.send(mail_server(keep_secrets(settings, realm.smtp)), mail)
        except MailNotSent as failure:
            # The caller would learn from the reason which addresses and ports exist.
            raise MailFailed(_FAILED, str(failure)) from failure
