"""The required actions that users perform on pages, with their table."""

from gateway.authentication.action_tokens import MailPauses
from gateway.authentication.engine.required_action import RequiredActionProvider
from gateway.authentication.profile_updates import EmailUpdates, ProfileUpdates
from gateway.authentication.required_actions.credentials import (
    ConfigureOtp,
    ConfigureRecoveryCodes,
    RegisterKey,
    UpdatePassword,
)
from gateway.authentication.required_actions.deletion import DeleteAccount, DeleteCredential
from gateway.authentication.required_actions.profile import (
    TermsAndConditions,
    UpdateEmail,
    UpdateProfile,
    VerifyEmail,
)
from gateway.authentication.services import AuthenticationServices
from gateway.authentication.web_authn import PASSKEYS, SECURITY_KEYS
from gateway.authentication.web_authn_registration import KeyRegistration
from gateway.domain.flows import (
    REGISTER_PASSKEY,
    REGISTER_SECURITY_KEY,
    UPDATE_PROFILE,
    VERIFY_PROFILE,
)


def required_actions(services: AuthenticationServices) -> tuple[RequiredActionProvider, ...]:
    """Return each action that has a page."""
    accounts, updates = services.accounts, services.updates
    profiles, pauses = ProfileUpdates(updates), MailPauses(services.marks, services.limiter)
    security_keys = KeyRegistration(services.web_authn, services.party, SECURITY_KEYS)
    passkeys = KeyRegistration(services.web_authn, services.party, PASSKEYS)
    return (
        UpdatePassword(accounts, services.new_passwords, updates),
        ConfigureOtp(accounts, services.codes, updates),
        ConfigureRecoveryCodes(updates),
        UpdateProfile(UPDATE_PROFILE, profiles),
        UpdateProfile(VERIFY_PROFILE, profiles),
        TermsAndConditions(updates),
        VerifyEmail(services.database, pauses),
        UpdateEmail(EmailUpdates(updates), pauses),
        DeleteCredential(accounts, updates),
        DeleteAccount(services.directory, updates, services.removal),
        RegisterKey(REGISTER_SECURITY_KEY, security_keys, accounts, updates),
        RegisterKey(REGISTER_PASSKEY, passkeys, accounts, updates),
    )
