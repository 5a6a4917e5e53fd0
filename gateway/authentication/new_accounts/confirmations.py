"""Registrations whose address is verified before the user is signed in.

The page is the same where the address belongs to another account: the mail then goes to the user of
that account and says so, and no account is made (attacks: D10).
"""

from typing import Final

from gateway.authentication.engine.account_changes import AccountChange
from gateway.authentication.engine.sign_in import SignIn
from gateway.authentication.required_actions.verify_email import verification_mail
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import VERIFY_EMAIL
from gateway.domain.mail import MailKind, QueuedMail, user_mail
from gateway.domain.ports.storage import Database
from gateway.domain.user_profile.name_keys import name_key
from gateway.domain.users import User

_ADDRESS: Final = "registered-address"
"""The note with the address that was typed, while it is not verified."""


def verifies_address(sign_in: SignIn, user: User) -> bool:
    """Tell whether the address of a new user is verified first."""
    offered = sign_in.context.realm.sign_in.offers(VERIFY_EMAIL)
    return sign_in.realm.login.verify_email and offered and bool(user.email)


def awaits_confirmation(sign_in: SignIn) -> bool:
    """Tell whether the form was taken, and the address is still to be verified."""
    user = sign_in.found_user
    return _ADDRESS in sign_in.notes and not (user is not None and user.email_verified)


def was_taken(sign_in: SignIn) -> bool:
    """Tell whether the form was taken before."""
    return _ADDRESS in sign_in.notes


def confirmation_page(sign_in: SignIn) -> Challenge:
    """Return the page that a mail was sent."""
    fields = {"email": sign_in.notes.get(_ADDRESS, "")}
    return Challenge(FormName.REGISTERED, fields, MessageKey.VERIFY_EMAIL)


class Confirmations:
    """Sends the mails; both take the same time, as both find the user first (attacks: D11)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, sign_in: SignIn, address: str) -> Challenge:
        """Send the link to the new user of the address; raises StoreUnavailable."""
        async with self._database.write() as stores:
            user = await stores.users.find_by_email(sign_in.realm.id, address)
            failure = None
            if user is not None:
                failure = await verification_mail(sign_in, user).queue(stores, sign_in.now)
        error = None if failure is None else EventError.EMAIL_SEND_FAILED
        sign_in.record(AccountChange(EventType.SEND_VERIFY_EMAIL, {Detail.EMAIL: address}, error))
        sign_in.note(_ADDRESS, address)
        return confirmation_page(sign_in)

    async def notify_owner(self, sign_in: SignIn, address: str) -> Challenge:
        """Send a mail about the attempt to the user of the address; raises StoreUnavailable.

        The recipient is the stored address: the one that was typed may be a look-alike.
        """
        realm = sign_in.realm
        async with self._database.write() as stores:
            owner = await stores.users.find_by_email_key(realm.id, name_key(address))
            if owner is not None and owner.enabled and owner.email:
                kind = MailKind.REGISTRATION_ATTEMPT
                mail = user_mail(realm, owner, owner.email, kind, sign_in.now)
                await stores.mails.add(QueuedMail(mail, owner.id))
        sign_in.note(_ADDRESS, address)
        return confirmation_page(sign_in)
