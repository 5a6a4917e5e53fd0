"""The parts of the page of registration, a file each."""

from gateway.authentication.engine.form_action import FormAction
from gateway.authentication.form_actions.registration_password import RegistrationPassword
from gateway.authentication.form_actions.registration_terms import RegistrationTerms
from gateway.authentication.form_actions.user_creation import UserCreation
from gateway.authentication.new_passwords import PasswordChanges


def form_actions(passwords: PasswordChanges) -> tuple[FormAction, ...]:
    """Return every part that acts."""
    return (
        UserCreation(),
        RegistrationPassword(passwords),
        RegistrationTerms(),
    )
