"""The authenticators of flows, with their table."""

from collections.abc import Sequence

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.authenticators.certificates import CertificateForm, CertificateUsername
from gateway.authentication.authenticators.cookie_and_access import (
    AllowAccess,
    Cookie,
    DenyAccess,
    SessionLimits,
    Unavailable,
)
from gateway.authentication.authenticators.one_time_codes import (
    OneTimeCodeForm,
    RecoveryCodeForm,
    ValidateOneTimePassword,
)
from gateway.authentication.authenticators.reset_credentials import (
    ResetChooseUser,
    ResetCredentialEmail,
    ResetLinks,
    ResetOtp,
    ResetPassword,
)
from gateway.authentication.authenticators.security_keys import PasskeyForm, SecurityKeyForm
from gateway.authentication.authenticators.username_password import (
    PasswordForm,
    UsernameForm,
    UsernamePasswordForm,
    ValidatePassword,
    ValidateUsername,
)
from gateway.authentication.certificate_users import CertificateUsers
from gateway.authentication.engine.sign_in import Authenticator
from gateway.authentication.one_time_passwords import OneTimePasswordCheck
from gateway.authentication.passwords import PasswordCheck
from gateway.authentication.recovery_codes import RecoveryCodeCheck
from gateway.authentication.registration import (
    Confirmations,
    FormAction,
    RegistrationPageForm,
    Registrations,
)
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
