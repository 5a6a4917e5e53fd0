"""`reset-credential-email`: sends a link, and waits until it is opened.

The page says the same for every name (attacks: D10). Keycloak shows it above the form of the
sign-in. Keycloak: ResetCredentialEmail (26.7)
"""

from typing import ClassVar, Final

from gateway.authentication.accounts import Account, Accounts, unknown_account
from gateway.authentication.authenticators.reset_links import (
    ResetLinks,
    is_proven_by_link,
)
from gateway.authentication.engine.account_changes import AccountChange
from gateway.authentication.engine.sign_in import (
    FORCED_SIGN_IN,
    Config,
    Form,
    Outcome,
    Result,
    SignIn,
)
from gateway.authentication.errors import NotIdentified
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.events import EventError, EventType
from gateway.domain.flows import RESET_EMAIL
from gateway.domain.mail import can_send_mails

RESET_LINK: Final = "reset-link"
"""The kind of credential that the opened link is."""
_SENT: Final = "reset-mail-sent"
"""The note that the mail was sent: a page that is loaded again sends none."""
_FORCE_LOGIN: Final = "force-login"


class ResetCredentialEmail:
    """Proves the user by the link."""

    id: ClassVar = RESET_EMAIL
    needs_user: ClassVar[bool] = False
    asks_everyone: ClassVar[bool] = True

    def __init__(self, accounts: Accounts, links: ResetLinks) -> None:
        self._accounts = accounts
        self._links = links

    def is_configured(self, account: Account) -> bool:
        """Return True: a user without an address sees the same page."""
        del account
        return True

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the page that a mail was sent; SUCCEEDED where its link was opened."""
        account = sign_in.account
        if account is None:
            raise NotIdentified
        account = sign_in.account = await self._accounts.with_credentials(account)
        if is_proven_by_link(sign_in):
            return _succeeded(sign_in, config)
        if not can_send_mails(sign_in.realm):
            self._links.note_unsent(sign_in, account)
            return _page(MessageKey.MAIL_NOT_SENT, is_error=True)
        if _SENT not in sign_in.notes:
            await self._links.send(sign_in, _recipient(sign_in, account))
            sign_in.note(_SENT, "true")
        return _page(MessageKey.RESET_MAIL_SENT)

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return the page again: only the link goes on."""
        del form
        return await self.authenticate(sign_in, config)


def _succeeded(sign_in: SignIn, config: Config) -> Outcome:
    sign_in.used.add(RESET_LINK)
    if config.get(_FORCE_LOGIN) == "true":
        sign_in.note(FORCED_SIGN_IN, "true")
    return Outcome.SUCCEEDED


def _recipient(sign_in: SignIn, account: Account) -> Account:
    """Return the account that gets the mail; one without an address gets none."""
    user = account.user
    if user is None or user.email:
        return account
    change = AccountChange(EventType.RESET_PASSWORD, {}, EventError.INVALID_EMAIL)
    sign_in.record(change)
    return unknown_account(user.username)


def _page(message: MessageKey, *, is_error: bool = False) -> Challenge:
    return Challenge(FormName.RESET_MAIL_SENT, {}, message, is_error=is_error)
