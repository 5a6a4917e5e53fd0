"""The authenticators of flows, with their table."""

from collections.abc import Mapping

from gateway.authentication.authenticators.certificates import CertificateForm, CertificateUsername
from gateway.authentication.authenticators.cookie_and_access import (
    AllowAccess,
    CookieAuthenticator,
    DenyAccess,
    Unavailable,
    UserSessionLimits,
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
from gateway.authentication.recovery_codes import RecoveryCodeCheck
from gateway.authentication.registration import (
    Confirmations,
    RegistrationPageForm,
    Registrations,
    form_actions,
)
from gateway.authentication.services import AuthenticationServices
from gateway.authentication.web_authn import Passkeys


class _Authenticators(dict[str, Authenticator]):
    """Authenticators by id; a name that is not among them gets a substitute, which refuses."""

    def __missing__(self, name: str) -> Authenticator:
        return Unavailable(name)


def authenticators(services: AuthenticationServices) -> Mapping[str, Authenticator]:
    """Return every authenticator that acts, by id, and a substitute for any other id."""
    accounts, database, keys = services.accounts, services.database, services.keys
    passwords, codes = services.passwords, services.codes
    passkeys, certificate_users = Passkeys(keys), CertificateUsers(accounts)
    every: tuple[Authenticator, ...] = (
        CookieAuthenticator(accounts),
        UsernamePasswordForm(accounts, passwords, passkeys),
        UsernameForm(accounts, passkeys),
        PasswordForm(passwords, passkeys),
        OneTimeCodeForm(codes),
        RecoveryCodeForm(RecoveryCodeCheck(services.updates)),
        SecurityKeyForm(keys),
        PasskeyForm(accounts, keys),
        ValidateUsername(accounts),
        ValidatePassword(passwords),
        ValidateOneTimePassword(codes),
        CertificateUsername(certificate_users),
        CertificateForm(certificate_users),
        AllowAccess(),
        DenyAccess(),
        UserSessionLimits(services.user_sessions, database),
        RegistrationPageForm(
            form_actions(services.new_passwords),
            Registrations(database, services.limiter),
            Confirmations(database),
        ),
        ResetChooseUser(accounts),
        ResetCredentialEmail(accounts, ResetLinks(database, services.limiter)),
        ResetPassword(),
        ResetOtp(services.updates),
    )
    return _Authenticators({each.id: each for each in every})
