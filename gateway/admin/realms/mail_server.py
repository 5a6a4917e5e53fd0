"""The mail server of a realm: a check of its sender, and a test before its settings are stored.

A mail server without a valid sender is refused.
Keycloak: 7.1 (testSMTPConnection); the check of smtpServer when a realm is created or changed
(26.7)
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.domain.clock import Clock
from gateway.domain.mail import MailKind, MailNotSent, mail_server, user_mail
from gateway.domain.ports.outgoing import MailSender
from gateway.domain.ports.storage import Database
from gateway.domain.refusals import InvalidRequest, MailFailed
from gateway.representations.realms import SmtpMap, keep_secrets

_ADDRESS: Final = re.compile(r"[!-?A-~]{1,64}@[^@\s]+")
"""Its part before the @ in visible ASCII."""
_LONGEST_SHOWN: Final = 100
_HINT: Final = (
    "If the address contains UTF-8 characters in the local part please ensure the SMTP server"
    " supports the SMTPUTF8 extension and enable 'Allow UTF-8' in the email realm configuration."
)


def require_sender(document: Mapping[str, Any]) -> None:
    """Raise InvalidRequest where a realm's document has a mail server without a valid sender."""
    server = document.get("smtpServer", document.get("smtp_server"))
    if not isinstance(server, Mapping) or not server:
        return
    _require_address(server.get("from"), "sender")
    if server.get("replyTo"):
        _require_address(server["replyTo"], "reply-to")


def _require_address(address: object, what: str) -> None:
    if _ADDRESS.fullmatch(str(address)) is None:
        shown = "null" if address is None else str(address)[:_LONGEST_SHOWN]
        raise InvalidRequest(f"Invalid {what} address '{shown}'. {_HINT}")


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
