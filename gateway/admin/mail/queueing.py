"""Mails to users of a realm: put into the queue, and listed for the operator."""

from gateway.admin.access import Acting, InvalidRequest
from gateway.domain.clock import Clock
from gateway.domain.mail import (
    MailKind,
    MailNotSent,
    MailStatus,
    QueuedMail,
    mail_server,
    user_mail,
)
from gateway.domain.ports.storage import Database
from gateway.domain.users import User


class UserMails:
    """Puts mails to users into the queue."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def test(self, acting: Acting, user: User) -> str:
        """Let the workers send a test mail to the user; return its id.

        Raises InvalidRequest where there is no address, no usable mail server, or a limit reached.
        """
        if not user.email:
            raise InvalidRequest("User email missing")
        try:
            mail_server(acting.realm.smtp)
        except MailNotSent as failure:
            raise InvalidRequest(str(failure)) from failure
        mail = user_mail(acting.realm, user, user.email, MailKind.TEST, self._clock.now())
        async with self._database.write() as stores:
            if not await stores.mails.add(QueuedMail(mail, user.id)):
                raise InvalidRequest("The limit of mails to this user or of this realm is reached")
        return mail.id

    async def list(self, acting: Acting, first: int, most: int) -> tuple[MailStatus, ...]:
        """Return the mails of the realm that wait or were given up, the oldest first."""
        async with self._database.read() as stores:
            return await stores.mails.list(acting.realm.id, first, most)
