"""The mail to the previous address of a user whose address was changed by the user.

An attacker with the account must not move it to another mailbox unnoticed. The mail is queued in
the transaction of the change, in the language that the user had before, and does not name the new
address. docs/users.md#changes-of-an-address
"""

from dataclasses import replace

from gateway.authentication.account_updates import AccountUpdate
from gateway.domain.mail import MailKind, QueuedMail, can_send_mails, mail_time, user_mail
from gateway.domain.realm import Realm
from gateway.domain.users import User


async def notify_previous_address(update: AccountUpdate, realm: Realm, after: User) -> None:
    """Queue the mail where the address has changed, and the realm has a mail server.

    Beyond the limit of such mails one mail at the end of the hour stands for all further changes.
    """
    before, now = update.user, update.now
    if before.email is None or before.email == after.email or not can_send_mails(realm):
        return
    mail = user_mail(realm, before, before.email, MailKind.EMAIL_CHANGED, now)
    notice = replace(mail, arguments=(mail_time(now),))
    await update.stores.mails.add(QueuedMail(notice, before.id))
