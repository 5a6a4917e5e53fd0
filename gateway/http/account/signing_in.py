"""Signing in: the credentials of the user, each with the action that changes it.

Actions are performed in a sign-in (`kc_action`), so credentials of some age are asked for again.
Keycloak: 17.4, 16.1
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.accounts.access import AccountRole
from gateway.accounts.certificates import AccountCertificates
from gateway.accounts.credentials import AccountCredentials, OwnCredential, OwnCredentialType
from gateway.domain.flows import DELETE_CREDENTIAL
from gateway.domain.texts import Text
from gateway.domain.web_authn import PASSKEY, SECURITY_KEY
from gateway.http.account.visitor import PageHandler, Visitor
from gateway.http.pages.account_views import (
    AccountIcon,
    CredentialRow,
    CredentialSection,
    SigningInPage,
)
from gateway.http.pages.page_values import Message
from gateway.protocol.account_console import AccountPage


@dataclass(frozen=True, slots=True)
class _Shown:
    """The keys of the texts of a type of credentials, and its picture."""

    name: str
    hint: str
    empty: str
    icon: AccountIcon


_SHOWN: Final[Mapping[str, _Shown]] = {
    "password": _Shown(
        "password", "accountPasswordHint", "accountNoPassword", AccountIcon.PASSWORD
    ),
    "otp": _Shown("otp-display-name", "accountOtpHint", "accountNoOtp", AccountIcon.PHONE),
    "recovery-authn-codes": _Shown(
        "recovery-codes-label-default",
        "accountRecoveryCodesHint",
        "accountNoRecoveryCodes",
        AccountIcon.CODES,
    ),
    SECURITY_KEY: _Shown(
        "accountSecurityKeys", "accountSecurityKeysHint", "accountNoSecurityKeys", AccountIcon.KEY
    ),
    PASSKEY: _Shown(
        "accountPasskeys", "accountPasskeysHint", "accountNoPasskeys", AccountIcon.PASSKEY
    ),
}
"""By the type of the credential."""


@dataclass(frozen=True, slots=True)
class SigningIn(PageHandler):
    """Lists the credentials."""

    credentials: AccountCredentials
    certificates: AccountCertificates
    page: ClassVar = AccountPage.SIGNING_IN
    name: ClassVar = "accountSigningIn"
    icon: ClassVar = AccountIcon.KEY
    roles: ClassVar = (AccountRole.VIEW_PROFILE, AccountRole.MANAGE_ACCOUNT)

    async def show(self, visitor: Visitor, message: Message | None) -> SigningInPage:
        found = await self.credentials.list(visitor.caller)
        return SigningInPage(
            frame=visitor.frame,
            sections=tuple(self._section(visitor, one) for one in found if one.kind.type in _SHOWN),
            certificates_url=visitor.url(AccountPage.CERTIFICATES)
            if self.certificates.are_used(visitor.caller)
            else "",
            message=message,
        )

    def _section(self, visitor: Visitor, found: OwnCredentialType) -> CredentialSection:
        shown = _SHOWN[found.kind.type]
        return CredentialSection(
            id=found.kind.type,
            name=shown.name,
            hint=shown.hint,
            empty=shown.empty,
            icon=shown.icon,
            rows=tuple(self._row(visitor, found, one) for one in found.credentials),
            set_up_url=self._action(visitor, found.create_action),
        )

    def _row(self, visitor: Visitor, found: OwnCredentialType, own: OwnCredential) -> CredentialRow:
        credential, codes = own.credential, own.codes
        left = (
            None
            if codes is None
            else Text("accountRecoveryCodesLeft", (str(codes.left), str(codes.total)))
        )
        return CredentialRow(
            label=credential.label or "",
            created_at=credential.created_at,
            facts=() if left is None else (left,),
            update_url=self._action(visitor, found.update_action),
            delete_url=self._action(visitor, f"{DELETE_CREDENTIAL}:{credential.id}")
            if found.removable
            else "",
        )

    def _action(self, visitor: Visitor, action: str | None) -> str:
        may_change = visitor.caller.has(AccountRole.MANAGE_ACCOUNT)
        return visitor.action_url(self.page, action) if action and may_change else ""
