"""The required actions that users perform on pages, with their table."""

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.action_tokens import MailPauses
from gateway.authentication.engine.required_action import RequiredActionProvider
from gateway.authentication.one_time_passwords import OneTimePasswordCheck
from gateway.authentication.passwords import PasswordChanges
from gateway.authentication.profile_updates import EmailUpdates, ProfileUpdates
from gateway.authentication.removal import AccountRemoval
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
from gateway.authentication.web_authn_registration import KeyRegistration
from gateway.domain.flows import (
    REGISTER_PASSKEY,
    REGISTER_SECURITY_KEY,
    UPDATE_PROFILE,
    VERIFY_PROFILE,
)
from gateway.domain.ports.lookups import Directory
from gateway.domain.ports.storage import Database


def required_actions(
    accounts: Accounts,
    passwords: PasswordChanges,
    codes: OneTimePasswordCheck,
    updates: AccountUpdates,
    *,
    database: Database,
    pauses: MailPauses,
    directory: Directory,
    removal: AccountRemoval,
    security_keys: KeyRegistration,
    passkeys: KeyRegistration,
) -> tuple[RequiredActionProvider, ...]:
    """Return each action that has a page."""
    profiles = ProfileUpdates(updates)
    return (
        UpdatePassword(accounts, passwords, updates),
        ConfigureOtp(accounts, codes, updates),
        ConfigureRecoveryCodes(updates),
        UpdateProfile(UPDATE_PROFILE, profiles),
        UpdateProfile(VERIFY_PROFILE, profiles),
        TermsAndConditions(updates),
        VerifyEmail(database, pauses),
        UpdateEmail(EmailUpdates(updates), pauses),
        DeleteCredential(accounts, updates),
        DeleteAccount(directory, updates, removal),
        RegisterKey(REGISTER_SECURITY_KEY, security_keys, accounts, updates),
        RegisterKey(REGISTER_PASSKEY, passkeys, accounts, updates),
    )
