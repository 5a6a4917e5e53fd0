"""`registration-page-form`: the page on which users register.

Its parts are the actions of the form of the flow. Where one of them does not act, the flow fails.
Keycloak: RegistrationPage, FormAuthenticationFlow (26.7)
"""

from collections.abc import Sequence
from typing import ClassVar, Final
from uuid import uuid4

from gateway.authentication.accounts import Account
from gateway.authentication.engine.account_changes import AccountChange, AccountChanges
from gateway.authentication.engine.form_action import (
    FormAction,
    FormRejected,
    NewAccount,
    profile_rejected,
)
from gateway.authentication.engine.proven_password import note_password
from gateway.authentication.engine.sign_in import Config, Form, Outcome, Result, SignIn
from gateway.authentication.new_accounts.confirmations import (
    Confirmations,
    awaits_confirmation,
    confirmation_page,
    verifies_address,
    was_taken,
)
from gateway.authentication.new_accounts.registrations import Registrations
from gateway.authentication.profile_updates import OwnProfile
from gateway.authentication.unique_names import NameTaken
from gateway.domain.authentication import Challenge, FormName
from gateway.domain.errors import RealmgateError
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import REGISTRATION_FORM
from gateway.domain.user_profile.profile import EMAIL, FIRST_NAME, LAST_NAME, USERNAME
from gateway.domain.users import User

REGISTERED: Final = "registration"
"""What proves the user who has just registered."""
_TAKEN: Final = {EMAIL: EventError.EMAIL_IN_USE, USERNAME: EventError.USERNAME_IN_USE}


class RegistrationPageForm:
    """Shows the form, and stores the account that it describes."""

    id: ClassVar = REGISTRATION_FORM
    needs_user: ClassVar[bool] = False
    asks_everyone: ClassVar[bool] = True

    def __init__(
        self,
        actions: Sequence[FormAction],
        registrations: Registrations,
        confirmations: Confirmations,
    ) -> None:
        self._actions = {action.id: action for action in actions}
        self._registrations = registrations
        self._confirmations = confirmations

    def is_configured(self, account: Account) -> bool:
        """Return True: there is nothing to set up."""
        del account
        return True

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form; ATTEMPTED where a part of it does not act.

        After the form, SUCCEEDED once the address is verified, where the realm asks for that.
        """
        del config
        if awaits_confirmation(sign_in):
            return confirmation_page(sign_in)
        if was_taken(sign_in):
            return Outcome.SUCCEEDED
        actions = self._parts(sign_in)
        return _form(sign_in, actions) if actions else Outcome.ATTEMPTED

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return SUCCEEDED with the new user, or the form again."""
        if was_taken(sign_in):
            return await self.authenticate(sign_in, config)
        actions = self._parts(sign_in)
        if not actions:
            return Outcome.ATTEMPTED
        try:
            return await self._register(sign_in, actions, form)
        except _AddressTaken as taken:
            sign_in.account_changes = _event(sign_in, form, EventError.EMAIL_IN_USE)
            sign_in.used.add(REGISTERED)
            return await self._confirmations.notify_owner(sign_in, taken.address)
        except FormRejected as rejected:
            sign_in.account_changes = _event(sign_in, form, rejected.event_error)
            return rejected.on(_form(sign_in, actions, form, rejected))

    def _parts(self, sign_in: SignIn) -> tuple[FormAction, ...]:
        """Return the actions of the form in their order; none where one does not act."""
        [step] = [one for one in sign_in.flow.every_step() if one.authenticator == self.id]
        found = [self._actions.get(action.authenticator) for action in step.actions]
        return tuple(action for action in found if action is not None) if all(found) else ()

    async def _register(self, sign_in: SignIn, actions: Sequence[FormAction], form: Form) -> Result:
        realm = sign_in.realm
        blank = User(str(uuid4()), realm.id, "", enabled=True, created_at=sign_in.now)
        draft = NewAccount(blank)
        for action in actions:
            draft = await action.apply(sign_in, draft, form)
        await self._registrations.admit(realm.id, sign_in.context.address)
        verifies = verifies_address(sign_in, draft.user)
        account = await self._stored(sign_in, draft, verifies=verifies)
        _sign_in(sign_in, account)
        sign_in.account_changes = _event(sign_in, form)
        if not verifies:
            return Outcome.SUCCEEDED
        return await self._confirmations.ask(sign_in, draft.user.email or "")

    async def _stored(self, sign_in: SignIn, draft: NewAccount, *, verifies: bool) -> Account:
        try:
            return await self._registrations.store(sign_in.realm, draft, name_first=verifies)
        except NameTaken as taken:
            if verifies and taken.attribute == EMAIL:
                raise _AddressTaken(draft.user.email or "") from taken
            violation = OwnProfile(sign_in.context.realm).violation_of(taken)
            raise profile_rejected([violation], _TAKEN[taken.attribute]) from taken


class _AddressTaken(RealmgateError):
    """Another account has the address, which the page does not say."""

    def __init__(self, address: str) -> None:
        super().__init__("the address is taken")
        self.address = address


def _sign_in(sign_in: SignIn, account: Account) -> None:
    sign_in.identify(account)
    sign_in.attempted_username = sign_in.user.username
    sign_in.used.add(REGISTERED)
    if account.password is not None:
        note_password(sign_in, account.password)


def _form(
    sign_in: SignIn,
    actions: Sequence[FormAction],
    sent: Form | None = None,
    rejected: FormRejected | None = None,
) -> Challenge:
    violations = () if rejected is None else rejected.violations
    form = Challenge(FormName.REGISTER)
    for action in actions:
        form = action.show(sign_in, form, sent, violations)
    return form


def _event(sign_in: SignIn, form: Form, error: str | None = None) -> AccountChanges:
    login = sign_in.realm.login
    named = EMAIL if login.registration_email_as_username else USERNAME
    details: dict[str, str] = {Detail.REGISTER_METHOD: "form"}
    fields = (
        (Detail.USERNAME, named),
        (Detail.EMAIL, EMAIL),
        (Detail.FIRST_NAME, FIRST_NAME),
        (Detail.LAST_NAME, LAST_NAME),
    )
    for name, field in fields:
        if form.get(field):
            details[name] = form[field]
    return AccountChanges((AccountChange(EventType.REGISTER, details, error),))
