"""Authenticators whose credential is the TLS client certificate.

Keycloak: 11.2 certificate users
"""

import hashlib
from typing import ClassVar, Final

from gateway.authentication.accounts import Account
from gateway.authentication.certificate_users import (
    CERTIFICATE_CREDENTIAL,
    CertificateUsers,
    prove_certificate,
)
from gateway.authentication.engine.sign_in import (
    Authenticator,
    AuthenticatorOutcome,
    Config,
    Form,
    Result,
    SecretCheck,
    SignInAttempt,
)
from gateway.authentication.errors import (
    AccountDisabled,
    CertificateRejected,
    InvalidUserCredentials,
    SignInRefused,
)
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.certificates import ClientCertificate
from gateway.domain.events import Detail, EventError
from gateway.domain.flows import CERTIFICATE, CERTIFICATE_FORM
from gateway.domain.users import User


class CertificateUsername(Authenticator):
    """`direct-grant-auth-x509-username`: the certificate of the TLS client names the user.

    Finds the user of the certificate; a locked account is refused as one without a password.

    Only a certificate that is trusted in the realm counts. Keycloak: 11.2 certificate users
    """

    id: ClassVar = CERTIFICATE

    def __init__(self, users: CertificateUsers) -> None:
        self._users = users

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the check of the account; raises CertificateRejected."""
        account, name, _ = await self._users.find_account(sign_in, config)
        sign_in.identify(account, name)
        return SecretCheck(CERTIFICATE_CREDENTIAL, prove_certificate)


_SHOWN: Final = "certificate-shown"
"""The note of a page that was shown: a digest of its certificate and its user."""
_CANCEL: Final = "cancel"


class CertificateForm(Authenticator):
    """`auth-x509-client-username-form`: the certificate of the browser names the user.

    Finds the user of the certificate, and asks whether to sign in as that user.

    A page shows the certificate and the user, who continues or ignores it; the flow may leave the
    page out. Without a certificate the flow goes on to the next alternative; where the certificate
    names no user who may sign in, it does so with a message. What the page has shown is bound to
    the certificate and the user: where either differs when the form arrives, the page is shown
    again. Keycloak: 11.2 certificate users (26.7)
    """

    id: ClassVar = CERTIFICATE_FORM

    def __init__(self, users: CertificateUsers) -> None:
        self._users = users

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the page, or the check of the account where the flow leaves the page out."""
        return await self._decide(sign_in, config, confirmed=None)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the check of the account; ATTEMPTED where the user ignores the certificate."""
        shown = sign_in.notes.get(_SHOWN)
        sign_in.note(_SHOWN, None)
        if _CANCEL in form:
            return AuthenticatorOutcome.ATTEMPTED
        return await self._decide(sign_in, config, confirmed=shown)

    async def _decide(
        self, sign_in: SignInAttempt, config: Config, *, confirmed: str | None
    ) -> Result:
        certificate = sign_in.context.certificate
        if certificate is None:
            return AuthenticatorOutcome.ATTEMPTED
        sign_in.event_details |= certificate.evidence.leaf.event_details
        try:
            account, name, options = await self._users.find_account(sign_in, config)
            user = _require_user(sign_in, account, name)
        except SignInRefused as refusal:
            sign_in.failure, sign_in.information = refusal, MessageKey.CERTIFICATE_NOT_ACCEPTED
            if isinstance(refusal, CertificateRejected):
                sign_in.event_details |= {Detail.REASON: refusal.text}
            return AuthenticatorOutcome.ATTEMPTED
        mark = _certificate_mark(certificate, user)
        if options.asks_confirmation and confirmed != mark:
            sign_in.note(_SHOWN, mark)
            return _certificate_page(certificate, user, is_other=confirmed is not None)
        return _certificate_check(sign_in, account, name)


def _require_user(sign_in: SignInAttempt, account: Account, name: str) -> User:
    """Return the user; raises SignInRefused for none, a disabled one, or one who is another.

    Another than the one whom a step before has named, such as the session of the browser. The event
    has the `name`, in place of which a sign-in that succeeds has its own.
    """
    user, known = account.user, sign_in.found_user
    sign_in.event_details |= {Detail.USERNAME: name}
    if user is None:
        raise InvalidUserCredentials(EventError.USER_NOT_FOUND)
    if not user.enabled:
        raise AccountDisabled(user.id)
    if sign_in.account is not None and (known is None or known.id != user.id):
        raise CertificateRejected("The certificate names another user.")
    return user


def _certificate_mark(certificate: ClientCertificate, user: User) -> str:
    return hashlib.sha256(certificate.leaf.digest + user.id.encode()).hexdigest()


def _certificate_page(certificate: ClientCertificate, user: User, *, is_other: bool) -> Challenge:
    fields = {"subject": certificate.leaf.subject.legacy_rendering(), "username": user.username}
    message = MessageKey.CERTIFICATE_CHANGED if is_other else None
    return Challenge(FormName.CERTIFICATE, fields, message, is_error=is_other)


def _certificate_check(sign_in: SignInAttempt, account: Account, name: str) -> SecretCheck:
    """Return the check that the guard may refuse, as that of a password."""
    before, details = sign_in.account, dict(sign_in.event_details)
    sign_in.identify(account, name)

    def forget() -> None:
        if before is None:
            sign_in.forget_user()

    return SecretCheck(
        CERTIFICATE_CREDENTIAL,
        prove_certificate,
        wrong=MessageKey.CERTIFICATE_NOT_ACCEPTED,
        on_failure=forget,
        on_success=lambda: sign_in.keep_details(details),
        is_optional=True,
    )
