"""The link by which users reset their credentials: its mail, and what it proves.

For a name without an account the same work is done, and no mail is sent: neither the page nor the
time tells whether there is one. A link is void once the password was changed.
Keycloak: ResetCredentialEmail; attacks: D10, D11
"""

from dataclasses import replace
from typing import Final
from uuid import uuid4

from gateway.authentication.accounts import Account
from gateway.authentication.action_tokens import new_action_token, user_action_lifespan
from gateway.authentication.engine.account_changes import AccountChange
from gateway.authentication.engine.proven_password import password_mark, with_link
from gateway.authentication.engine.sign_in import SignIn
from gateway.authentication.link_mails import LinkMail
from gateway.domain.authentication import AuthenticationSession, new_browser_id
from gateway.domain.authentication.action_tokens import ActionTokenKind
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.limits.rate_limits import RESETS, RESETS_OF_USER, caller_of
from gateway.domain.mail import MailKind
from gateway.domain.ports.rate_limiter import RateLimiter
from gateway.domain.ports.storage import Database
from gateway.domain.users import User

_OPENED: Final = "reset-link"
"""The note with the id of the user who has opened the link."""
_KIND: Final = ActionTokenKind.RESET_CREDENTIALS
_NO_ADDRESS: Final = "nobody@localhost"


def proven_by_link(
    session: AuthenticationSession, user: User, password: str
) -> AuthenticationSession:
    """Return a new session of the user who has opened the link, for this mark of the password.

    Its id is new: an id that an attacker has planted in the browser must not gain the link.
    """
    opened = replace(
        session, id=new_browser_id(), user_id=user.id, attempted_username=user.username
    )
    return with_link(opened, user, password).with_note(_OPENED, user.id)


def is_proven_by_link(sign_in: SignIn) -> bool:
    """Tell whether the user has opened the link in this sign-in."""
    return sign_in.user_id is not None and sign_in.notes.get(_OPENED) == sign_in.user_id


class ResetLinks:
    """Sends the links."""

    def __init__(self, database: Database, limiter: RateLimiter) -> None:
        self._database = database
        self._limiter = limiter

    async def send(self, sign_in: SignIn, account: Account) -> None:
        """Queue the mail, or do the same work without one; raises StoreUnavailable.

        Beyond the limit of a user the page and the work are the same, too: both would reveal an
        account. The limit of the caller comes first, and stops the work for every name.
        """
        realm_id, network = sign_in.realm.id, caller_of(sign_in.context.address)
        if not await self._limiter.admit(realm_id, RESETS, network):
            if account.user is not None:
                _record(sign_in, account, EventError.SLOW_DOWN)
            return
        user = account.guarded_as
        admitted = await self._limiter.admit(realm_id, RESETS_OF_USER, network, user)
        mail = _mail(sign_in, account, is_dry_run=not admitted)
        async with self._database.write() as stores:
            failure = await mail.queue(stores, sign_in.now)
        error = None if failure is None else EventError.EMAIL_SEND_FAILED
        if account.user is not None:
            _record(sign_in, account, error if admitted else EventError.SLOW_DOWN)

    def note_unsent(self, sign_in: SignIn, account: Account) -> None:
        """Record that no mail can be sent to the account, where it is a user's."""
        if account.user is not None:
            _record(sign_in, account, EventError.EMAIL_SEND_FAILED)


def _mail(sign_in: SignIn, account: Account, *, is_dry_run: bool) -> LinkMail:
    realm, user = sign_in.realm, account.user
    address = None if user is None else user.email
    is_dry_run = is_dry_run or user is None or address is None
    if user is None:
        user = User(str(uuid4()), realm.id, "", enabled=False, created_at=sign_in.now)
    token = new_action_token(
        _KIND,
        user,
        sign_in.client.client_id,
        sign_in.now,
        user_action_lifespan(realm, _KIND),
        email=address or _NO_ADDRESS,
        sign_in=sign_in.begun.tab_id,
        password=password_mark(account),
    )
    return LinkMail(
        sign_in.context.realm,
        sign_in.context.issuer,
        user,
        address or _NO_ADDRESS,
        MailKind.PASSWORD_RESET,
        token,
        sign_in.begun.tab_id,
        is_dry_run=is_dry_run,
    )


def _record(sign_in: SignIn, account: Account, error: str | None) -> None:
    details = {Detail.USERNAME: sign_in.attempted_username or ""}
    if account.user is not None and account.user.email:
        details[Detail.EMAIL] = account.user.email
    sign_in.record(AccountChange(EventType.SEND_RESET_PASSWORD, details, error))
