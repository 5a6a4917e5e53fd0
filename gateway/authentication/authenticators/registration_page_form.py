"""`registration-page-form`: the page on which users register.

Its parts are the actions of the form of the flow. Where one of them does not act, no one registers.
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
from gateway.authentication.new_accounts.registrations import Registrations
from gateway.authentication.profile_updates import OwnProfile
from gateway.authentication.unique_names import NameTaken
from gateway.domain.authentication import Challenge, FormName
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import REGISTRATION_FORM
from gateway.domain.user_profile.profile import EMAIL, USERNAME
from gateway.domain.users import User

REGISTERED: Final = "registration"
"""What proves the user who has just registered."""
_TAKEN: Final = {EMAIL: EventError.EMAIL_IN_USE, USERNAME: EventError.USERNAME_IN_USE}


class RegistrationPageForm:
    """Shows the form, and stores the account that it describes."""

    id: ClassVar = REGISTRATION_FORM
    needs_user: ClassVar[bool] = False
    asks_everyone: ClassVar[bool] = True

    def __init__(self, actions: Sequence[FormAction], registrations: Registrations) -> None:
        self._actions = {action.id: action for action in actions}
        self._registrations = registrations

    def is_configured(self, account: Account) -> bool:
        """Return True: there is nothing to set up."""
        del account
        return True

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form; ATTEMPTED where a part of it does not act."""
        del config
        actions = self._parts(sign_in)
        return _form(sign_in, actions) if actions else Outcome.ATTEMPTED

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return SUCCEEDED with the new user, or the form again."""
        del config
        actions = self._parts(sign_in)
        if not actions:
            return Outcome.ATTEMPTED
        try:
            account = await self._register(sign_in, actions, form)
        except FormRejected as rejected:
            sign_in.account_changes = _event(sign_in, form, rejected.event_error)
            return rejected.on(_form(sign_in, actions, form, rejected))
        _sign_in(sign_in, account)
        sign_in.account_changes = _event(sign_in, form)
        return Outcome.SUCCEEDED

    def _parts(self, sign_in: SignIn) -> tuple[FormAction, ...]:
        """Return the actions of the form in their order; none where one does not act."""
        [step] = [one for one in sign_in.flow.every_step() if one.authenticator == self.id]
        found = [self._actions.get(action.authenticator) for action in step.actions]
        return tuple(action for action in found if action is not None) if all(found) else ()

    async def _register(
        self, sign_in: SignIn, actions: Sequence[FormAction], form: Form
    ) -> Account:
        realm = sign_in.realm
        blank = User(str(uuid4()), realm.id, "", enabled=True, created_at=sign_in.now)
        draft = NewAccount(blank)
        for action in actions:
            draft = await action.apply(sign_in, draft, form)
        await self._registrations.admit(realm.id, sign_in.context.address)
        try:
            return await self._registrations.store(realm, draft)
        except NameTaken as taken:
            violation = OwnProfile(sign_in.context.realm).violation_of(taken)
            raise profile_rejected([violation], _TAKEN[taken.attribute]) from taken


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
    for name, field in ((Detail.USERNAME, named), (Detail.EMAIL, EMAIL)):
        if form.get(field):
            details[name] = form[field]
    return AccountChanges((AccountChange(EventType.REGISTER, details, error),))
