"""The fields `username` and `rememberMe` of a form."""

from collections.abc import Mapping
from typing import Final

from gateway.authentication.engine.sign_in import Form, SignIn

USERNAME_FIELD: Final = "username"
REMEMBER_ME_FIELD: Final = "rememberMe"
_ON: Final = "on"


def username_fields(sign_in: SignIn) -> Mapping[str, str]:
    """Return what the form begins with: what was submitted before, or is known of the browser."""
    requested = sign_in.context.requested
    remembered = requested.remembered_username
    name = sign_in.attempted_username
    if name is None:
        name = requested.login_hint or remembered
    fields = {} if name is None else {USERNAME_FIELD: name}
    remember = sign_in.remember_me
    if sign_in.attempted_username is None and name == remembered and name is not None:
        remember = True
    offered = sign_in.realm.login.remember_me
    return {**fields, REMEMBER_ME_FIELD: _ON} if remember and offered else fields


def submitted_username(form: Form) -> str:
    """Return the user name without the blanks around it."""
    return form.get(USERNAME_FIELD, "").strip()


def note_remember_me(sign_in: SignIn, form: Form) -> None:
    """Note whether the session is to outlive the browser, where the realm offers it."""
    wanted = form.get(REMEMBER_ME_FIELD, "").lower() == _ON
    sign_in.remember_me = wanted and sign_in.realm.login.remember_me
