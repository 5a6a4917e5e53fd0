"""Authenticators of the flow that resets credentials: user, mailed link, codes, password.

Keycloak: ResetCredentialChooseUser, ResetCredentialEmail, ResetOTP, ResetPassword (26.7); attacks:
D10, D11
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final
from uuid import uuid4

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Account, Accounts, unknown_account
from gateway.authentication.action_tokens import LinkMail, new_action_token, user_action_lifespan
from gateway.authentication.authenticators.username_password import (
    USERNAME_FIELD,
)
from gateway.authentication.engine.proofs import password_mark, with_link
from gateway.authentication.engine.results import AccountChange
from gateway.authentication.engine.sign_in import (
    FORCED_SIGN_IN,
    Authenticator,
    AuthenticatorOutcome,
    Config,
    Form,
    Result,
    SignInAttempt,
)
from gateway.authentication.errors import NotIdentified
from gateway.authentication.one_time_passwords import OTP
from gateway.domain.authentication import (
    ActionTokenKind,
    AuthenticationSession,
    Challenge,
    FormName,
    MessageKey,
    OneTimeCodeDevice,
    new_browser_id,
)
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import (
    CONFIGURE_TOTP,
    RESET_CHOOSE_USER,
    RESET_EMAIL,
    RESET_OTP,
    RESET_PASSWORD,
    UPDATE_PASSWORD,
)
from gateway.domain.limits.rate_limits import RESETS, RESETS_OF_USER, RateLimiter, caller_of
from gateway.domain.mail import MailKind, can_send_mails
from gateway.domain.ports.storage import Database
from gateway.domain.users import Credential, User

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


def is_proven_by_link(sign_in: SignInAttempt) -> bool:
    """Tell whether the user has opened the link in this sign-in."""
    return sign_in.user_id is not None and sign_in.notes.get(_OPENED) == sign_in.user_id


class ResetLinks:
    """Sends the links.

    For a name without an account the same work is done, and no mail is sent: neither the page nor
    the time tells whether there is one. A link is void once the password was changed. Keycloak:
    ResetCredentialEmail; attacks: D10, D11
    """

    def __init__(self, database: Database, limiter: RateLimiter) -> None:
        self._database = database
        self._limiter = limiter

    async def send(self, sign_in: SignInAttempt, account: Account) -> None:
        """Queue the mail, or do the same work without one; raises StoreUnavailable.

        Beyond the limit of a user the page and the work are the same, too: both would reveal an
        account. The limit of the caller comes first, and stops the work for every name.
        """
        realm_id, network = sign_in.realm.id, caller_of(sign_in.context.address)
        if not await self._limiter.admit(realm_id, RESETS, network):
            if account.user is not None:
                _record_link(sign_in, account, EventError.SLOW_DOWN)
            return
        user = account.guarded_as
        admitted = await self._limiter.admit(realm_id, RESETS_OF_USER, network, user)
        mail = _reset_mail(sign_in, account, is_dry_run=not admitted)
        async with self._database.write() as stores:
            failure = await mail.queue(stores, sign_in.now)
        error = None if failure is None else EventError.EMAIL_SEND_FAILED
        if account.user is not None:
            _record_link(sign_in, account, error if admitted else EventError.SLOW_DOWN)

    def note_unsent(self, sign_in: SignInAttempt, account: Account) -> None:
        """Record that no mail can be sent to the account, where it is a user's."""
        if account.user is not None:
            _record_link(sign_in, account, EventError.EMAIL_SEND_FAILED)


def _reset_mail(sign_in: SignInAttempt, account: Account, *, is_dry_run: bool) -> LinkMail:
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


def _record_link(sign_in: SignInAttempt, account: Account, error: str | None) -> None:
    details = {Detail.USERNAME: sign_in.attempted_username or ""}
    if account.user is not None and account.user.email:
        details[Detail.EMAIL] = account.user.email
    sign_in.record(AccountChange(EventType.SEND_RESET_PASSWORD, details, error))


class ResetChooseUser(Authenticator):
    """`reset-credentials-choose-user`: the user that has forgotten a password.

    A name that no user has goes on as any other one, and so does that of a disabled account
    (attacks: D10). A user who is signed in is not asked. Keycloak: ResetCredentialChooseUser (26.7)
    """

    id: ClassVar = RESET_CHOOSE_USER
    asks_everyone: ClassVar[bool] = True

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the form; SUCCEEDED where the user is known."""
        del config
        if is_proven_by_link(sign_in):
            return AuthenticatorOutcome.SUCCEEDED
        browser = sign_in.context.browser_session
        if browser is None:
            return _choose_user_form(sign_in)
        user = browser.user
        sign_in.identify(Account(user, None, user.id), user.username)
        return AuthenticatorOutcome.SUCCEEDED

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return SUCCEEDED with the account of the name, which may be no user's."""
        del config
        username = form.get(USERNAME_FIELD, "").strip()
        if not username:
            _record_choice(sign_in, EventError.USERNAME_MISSING)
            return _choose_user_form(sign_in, MessageKey.MISSING_USERNAME)
        account = await self._accounts.get_named_account(sign_in.realm, username)
        user = account.user
        if user is None or not account.may_sign_in or not user.enabled:
            disabled = user is not None
            error = EventError.USER_DISABLED if disabled else EventError.USER_NOT_FOUND
            _record_choice(sign_in, error, username)
            account = unknown_account(username)
        sign_in.identify(account, username)
        return AuthenticatorOutcome.SUCCEEDED


def _choose_user_form(sign_in: SignInAttempt, message: MessageKey | None = None) -> Challenge:
    requested = sign_in.context.requested
    name = sign_in.attempted_username or requested.login_hint or ""
    return Challenge(
        FormName.RESET_PASSWORD,
        {USERNAME_FIELD: name},
        message,
        is_error=message is not None,
        error_field=None if message is None else USERNAME_FIELD,
    )


def _record_choice(sign_in: SignInAttempt, error: str, username: str = "") -> None:
    details = {Detail.USERNAME: username} if username else {}
    sign_in.record(AccountChange(EventType.RESET_PASSWORD, details, error))


RESET_LINK: Final = "reset-link"
"""The kind of credential that the opened link is."""
_SENT: Final = "reset-mail-sent"
"""The note that the mail was sent: a page that is loaded again sends none."""
_FORCE_LOGIN: Final = "force-login"


class ResetCredentialEmail(Authenticator):
    """`reset-credential-email`: sends a link, and waits until it is opened.

    The page says the same for every name (attacks: D10). Keycloak shows it above the form of the
    sign-in. Keycloak: ResetCredentialEmail (26.7)
    """

    id: ClassVar = RESET_EMAIL
    asks_everyone: ClassVar[bool] = True

    def __init__(self, accounts: Accounts, links: ResetLinks) -> None:
        self._accounts = accounts
        self._links = links

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the page that a mail was sent; SUCCEEDED where its link was opened."""
        account = sign_in.account
        if account is None:
            raise NotIdentified
        account = sign_in.account = await self._accounts.load_credentials(account)
        if is_proven_by_link(sign_in):
            return _email_succeeded(sign_in, config)
        if not can_send_mails(sign_in.realm):
            self._links.note_unsent(sign_in, account)
            return _page(MessageKey.MAIL_NOT_SENT, is_error=True)
        if _SENT not in sign_in.notes:
            await self._links.send(sign_in, _recipient(sign_in, account))
            sign_in.note(_SENT, "true")
        return _page(MessageKey.RESET_MAIL_SENT)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the page again: only the link goes on."""
        del form
        return await self.authenticate(sign_in, config)


def _email_succeeded(sign_in: SignInAttempt, config: Config) -> AuthenticatorOutcome:
    sign_in.used.add(RESET_LINK)
    if config.get(_FORCE_LOGIN) == "true":
        sign_in.note(FORCED_SIGN_IN, "true")
    return AuthenticatorOutcome.SUCCEEDED


def _recipient(sign_in: SignInAttempt, account: Account) -> Account:
    """Return the account that gets the mail; one without an address gets none."""
    user = account.user
    if user is None or user.email:
        return account
    change = AccountChange(EventType.RESET_PASSWORD, {}, EventError.INVALID_EMAIL)
    sign_in.record(change)
    return unknown_account(user.username)


def _page(message: MessageKey, *, is_error: bool = False) -> Challenge:
    return Challenge(FormName.RESET_MAIL_SENT, {}, message, is_error=is_error)


_REMOVAL_FLAG: Final = "action_on_otp_reset_flag"
_REMOVE_ONE: Final = "Remove one"
_REMOVE_ALL: Final = "Remove all"
_DEVICE_FIELD: Final = "selectedCredentialId"
_REMOVAL_EVENTS: Final = (EventType.REMOVE_TOTP, EventType.REMOVE_CREDENTIAL)
"""Keycloak 26 records both."""


class ResetOtp(Authenticator):
    """`reset-otp`: the user sets up another device for one-time codes.

    Removes devices, and requires the action CONFIGURE_TOTP in this sign-in.

    `action_on_otp_reset_flag` decides about the devices of the user: all are kept, the selected one
    is removed, or all are removed. Keycloak: ResetOTP (26.7)
    """

    id: ClassVar = RESET_OTP
    needs_user: ClassVar[bool] = True
    asks_everyone: ClassVar[bool] = True

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a device."""
        return bool(account.devices)

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return SUCCEEDED, or the devices to select one from."""
        devices = () if sign_in.account is None else sign_in.account.devices
        flag = config.get(_REMOVAL_FLAG)
        if flag == _REMOVE_ONE and devices:
            return _choose_device_form(devices)
        if flag == _REMOVE_ALL:
            await self._remove(sign_in, devices)
        return _otp_succeeded(sign_in)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return SUCCEEDED where a device of the user was selected."""
        if config.get(_REMOVAL_FLAG) != _REMOVE_ONE:  # the flow was changed meanwhile
            return await self.authenticate(sign_in, config)
        devices = () if sign_in.account is None else sign_in.account.devices
        chosen = tuple(one for one in devices if one.id == form.get(_DEVICE_FIELD))
        if devices and not chosen:
            return _choose_device_form(devices, MessageKey.NO_DEVICE_SELECTED)
        await self._remove(sign_in, chosen)
        return _otp_succeeded(sign_in)

    async def _remove(self, sign_in: SignInAttempt, devices: Sequence[Credential]) -> None:
        user = sign_in.user
        async with self._updates.begin_update(user.realm_id, user.id) as update:
            for device in devices:
                await update.stores.users.remove_credential(user.realm_id, device)
        for device in devices:
            details = {Detail.CREDENTIAL_TYPE: OTP, Detail.CREDENTIAL_ID: device.id}
            for kind in _REMOVAL_EVENTS:
                sign_in.record(AccountChange(kind, details))


def _otp_succeeded(sign_in: SignInAttempt) -> AuthenticatorOutcome:
    sign_in.require(CONFIGURE_TOTP)
    return AuthenticatorOutcome.SUCCEEDED


def _choose_device_form(
    devices: Sequence[Credential], message: MessageKey | None = None
) -> Challenge:
    return Challenge(
        FormName.RESET_OTP,
        {},
        message,
        is_error=message is not None,
        devices=tuple(OneTimeCodeDevice(one.id, one.label or "") for one in devices),
    )


class ResetPassword(Authenticator):
    """`reset-password`: the user sets a new password, by the required action UPDATE_PASSWORD.

    Keycloak: ResetPassword (26.7)
    """

    id: ClassVar = RESET_PASSWORD
    needs_user: ClassVar[bool] = True

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return SUCCEEDED."""
        del config
        sign_in.require(UPDATE_PASSWORD)
        return AuthenticatorOutcome.SUCCEEDED
