"""The required actions that users perform on pages: one file each, and a line here."""

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.email_updates import EmailUpdates
from gateway.authentication.engine.required_action import RequiredActionProvider
from gateway.authentication.link_mails import MailPauses
from gateway.authentication.new_passwords import PasswordChanges
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.authentication.profile_updates import ProfileUpdates
from gateway.authentication.removal import AccountRemoval
from gateway.authentication.required_actions.configure_otp import ConfigureOtp
from gateway.authentication.required_actions.configure_recovery_codes import (
    ConfigureRecoveryCodes,
)
from gateway.authentication.required_actions.delete_account import DeleteAccount
from gateway.authentication.required_actions.delete_credential import DeleteCredential
from gateway.authentication.required_actions.register_key import RegisterKey
from gateway.authentication.required_actions.terms_and_conditions import TermsAndConditions
from gateway.authentication.required_actions.update_email import UpdateEmail
from gateway.authentication.required_actions.update_password import UpdatePassword
from gateway.authentication.required_actions.update_profile import UpdateProfile
from gateway.authentication.required_actions.verify_email import VerifyEmail
from gateway.authentication.web_authn import KeyRegistration
from gateway.domain.flows import (
    REGISTER_PASSKEY,
    REGISTER_SECURITY_KEY,
    UPDATE_PROFILE,
    VERIFY_PROFILE,
)
from gateway.domain.ports.directory import Directory
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
