"""The authenticators of flows, a file each."""

from collections.abc import Sequence

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.authenticators.allow_access import AllowAccess
from gateway.authentication.authenticators.certificate_form import CertificateForm
from gateway.authentication.authenticators.certificate_username import CertificateUsername
from gateway.authentication.authenticators.cookie import Cookie
from gateway.authentication.authenticators.deny_access import DenyAccess
from gateway.authentication.authenticators.one_time_code_form import OneTimeCodeForm
from gateway.authentication.authenticators.passkey_form import PasskeyForm
from gateway.authentication.authenticators.password_form import PasswordForm
from gateway.authentication.authenticators.recovery_code_form import RecoveryCodeForm
from gateway.authentication.authenticators.registration_page_form import (
    RegistrationPageForm,
)
from gateway.authentication.authenticators.reset_choose_user import ResetChooseUser
from gateway.authentication.authenticators.reset_credential_email import ResetCredentialEmail
from gateway.authentication.authenticators.reset_links import ResetLinks
from gateway.authentication.authenticators.reset_otp import ResetOtp
from gateway.authentication.authenticators.reset_password import ResetPassword
from gateway.authentication.authenticators.security_key_form import SecurityKeyForm
from gateway.authentication.authenticators.session_limits import SessionLimits
from gateway.authentication.authenticators.unavailable import Unavailable
from gateway.authentication.authenticators.username_form import UsernameForm
from gateway.authentication.authenticators.username_password_form import UsernamePasswordForm
from gateway.authentication.authenticators.validate_one_time_password import (
    ValidateOneTimePassword,
)
from gateway.authentication.authenticators.validate_password import ValidatePassword
from gateway.authentication.authenticators.validate_username import ValidateUsername
from gateway.authentication.certificate_users import CertificateUsers
from gateway.authentication.engine.form_action import FormAction
from gateway.authentication.engine.sign_in import Authenticator
from gateway.authentication.new_accounts.confirmations import Confirmations
from gateway.authentication.new_accounts.registrations import Registrations
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.authentication.password_check import PasswordCheck
from gateway.authentication.recovery_codes import RecoveryCodeCheck
from gateway.authentication.web_authn import KeyCheck, Passkeys
from gateway.domain.ports.sessions import SessionStore


def authenticators(
    accounts: Accounts,
    passwords: PasswordCheck,
    codes: OneTimePasswordCheck,
    recovery_codes: RecoveryCodeCheck,
    sessions: SessionStore,
    *,
    registrations: Registrations,
    confirmations: Confirmations,
    actions: Sequence[FormAction],
    reset_links: ResetLinks,
    updates: AccountUpdates,
    keys: KeyCheck,
) -> tuple[Authenticator, ...]:
    """Return every authenticator that acts.

    `sessions` are the online ones, `actions` the parts of the form of registration.
    """
    passkeys, certificate_users = Passkeys(keys), CertificateUsers(accounts)
    return (
        Cookie(accounts),
        UsernamePasswordForm(accounts, passwords, passkeys),
        UsernameForm(accounts, passkeys),
        PasswordForm(passwords, passkeys),
        OneTimeCodeForm(codes),
        RecoveryCodeForm(recovery_codes),
        SecurityKeyForm(keys),
        PasskeyForm(accounts, keys),
        ValidateUsername(accounts),
        ValidatePassword(passwords),
        ValidateOneTimePassword(codes),
        CertificateUsername(certificate_users),
        CertificateForm(certificate_users),
        AllowAccess(),
        DenyAccess(),
        SessionLimits(sessions),
        RegistrationPageForm(actions, registrations, confirmations),
        ResetChooseUser(accounts),
        ResetCredentialEmail(accounts, reset_links),
        ResetPassword(),
        ResetOtp(updates),
    )
