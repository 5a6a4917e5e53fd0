"""The pages of the account console, one class each: users look at and change their own accounts.

Actions are performed in a sign-in (`kc_action`), so credentials of some age are asked for again.
Keycloak: 17.4 credentials, 16.1 required actions
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.accounts.applications import (
    AccountApplications,
    AccountConsents,
    OwnApplication,
    shown_consent,
)
from gateway.accounts.credentials import AccountCredentials, OwnCredential, OwnCredentialType
from gateway.accounts.profile import AccountGroups, AccountProfile
from gateway.accounts.protection import Lack, MissingProtection, list_missing_protections
from gateway.accounts.sessions import (
    AccountCertificates,
    AccountSessions,
    OwnSession,
    SignInCertificate,
)
from gateway.authentication.profile_updates import ProfileRejected
from gateway.domain.authentication import MessageKey, ProfileField
from gateway.domain.flows import DELETE_ACCOUNT, DELETE_CREDENTIAL, UPDATE_EMAIL
from gateway.domain.localization import LocalizedText
from gateway.domain.refusals import MissingPart
from gateway.domain.sessions import OTHER, UNKNOWN
from gateway.domain.web_authn import PASSKEY, SECURITY_KEY
from gateway.http.account_console import Notice, PageHandler, Visitor
from gateway.http.browser import client_display
from gateway.http.pages.account_views import (
    AccountIcon,
    ApplicationRow,
    ApplicationsPage,
    CertificateRow,
    CertificatesPage,
    CredentialRow,
    CredentialSection,
    DeviceActivityPage,
    GroupRow,
    GroupsPage,
    HomePage,
    MissingProtectionRow,
    PersonalInfoPage,
    ProtectionRemedy,
    SessionRow,
    SigningInPage,
)
from gateway.http.pages.page_values import Message
from gateway.http.sign_in.challenge_pages import profile_input
from gateway.protocol.account_console import AccountPage


@dataclass(frozen=True, slots=True)
class Home(PageHandler):
    """Shows the applications and what protections are missing, as far as the user may see them."""

    applications: AccountApplications
    credentials: AccountCredentials
    page: ClassVar = AccountPage.HOME
    name: ClassVar = "accountHome"
    icon: ClassVar = AccountIcon.HOME
    roles: ClassVar = (
        AccountRole.VIEW_PROFILE,
        AccountRole.VIEW_APPLICATIONS,
        AccountRole.MANAGE_ACCOUNT,
    )

    async def show(self, visitor: Visitor, message: Message | None) -> HomePage:
        caller = visitor.caller
        sees_applications = caller.has(*ApplicationPages.roles)
        sees_credentials = caller.has(*SigningIn.roles)
        applications = (
            await self.applications.list_applications(caller) if sees_applications else ()
        )
        credentials = await self.credentials.list_credentials(caller) if sees_credentials else ()
        others = (each for each in applications if each.client.client_id not in _OWN_CLIENTS)
        return HomePage(
            frame=visitor.frame,
            applications=tuple(
                _application_row(caller, each)
                for each in sorted(others, key=lambda each: not each.in_use)
            ),
            applications_url=visitor.url(AccountPage.APPLICATIONS) if sees_applications else "",
            shows_protection=sees_credentials,
            missing=tuple(
                _missing_row(visitor, lack)
                for lack in (
                    list_missing_protections(caller, credentials) if sees_credentials else ()
                )
            ),
            message=message,
        )


_OWN_CLIENTS: Final = frozenset({"account", "account-console"})
"""Clients of the console itself, which is no application to go to."""
_MISSING: Final[Mapping[MissingProtection, str]] = {
    MissingProtection.SECOND_FACTOR: "accountMissingSecondFactor",
    MissingProtection.RECOVERY_CODES: "accountMissingRecoveryCodes",
    MissingProtection.ENOUGH_RECOVERY_CODES: "accountFewRecoveryCodes",
    MissingProtection.EMAIL: "accountMissingEmail",
}
"""The keys of their titles; the hint has the same key with `Hint`."""


def _missing_row(visitor: Visitor, lack: Lack) -> MissingProtectionRow:
    title, may_change = _MISSING[lack.missing], visitor.caller.has(AccountRole.MANAGE_ACCOUNT)
    remedies = tuple(
        ProtectionRemedy(_SHOWN[each.kind.type].name, visitor.action_url(AccountPage.HOME, action))
        for each in lack.remedies
        if (action := each.create_action or each.update_action) is not None
    )
    if lack.missing is MissingProtection.EMAIL:
        personal = visitor.url(AccountPage.PERSONAL_INFO)
        remedies = (ProtectionRemedy("accountPersonalInfo", personal),)
    return MissingProtectionRow(title, f"{title}Hint", remedies if may_change else ())


@dataclass(frozen=True, slots=True)
class PersonalInfo(PageHandler):
    """Shows and takes the profile."""

    profile: AccountProfile
    page: ClassVar = AccountPage.PERSONAL_INFO
    name: ClassVar = "accountPersonalInfo"
    icon: ClassVar = AccountIcon.PERSON
    roles: ClassVar = (AccountRole.VIEW_PROFILE, AccountRole.MANAGE_ACCOUNT)

    async def show(self, visitor: Visitor, message: Message | None) -> PersonalInfoPage:
        return self._page(visitor, self.profile.fields(visitor.caller), message)

    async def change(self, visitor: Visitor) -> Notice | PersonalInfoPage:
        try:
            await self.profile.store_profile(visitor.caller, visitor.form)
        except ProfileRejected as rejected:
            fields = self.profile.fields(visitor.caller, visitor.form, rejected)
            return self._page(visitor, fields, Message(LocalizedText(MessageKey.INVALID_PROFILE)))
        return Notice.UPDATED

    def _page(
        self, visitor: Visitor, fields: tuple[ProfileField, ...], message: Message | None
    ) -> PersonalInfoPage:
        caller, rules = visitor.caller, visitor.caller.entry.sign_in
        manages = caller.has(AccountRole.MANAGE_ACCOUNT)
        updates_email = manages and rules.offers(UPDATE_EMAIL)
        deletes = caller.has(AccountRole.DELETE_ACCOUNT) and rules.offers(DELETE_ACCOUNT)
        return PersonalInfoPage(
            frame=visitor.frame,
            fields=tuple(map(profile_input, fields)),
            action=visitor.url(self.page) if manages else "",
            update_email_url=visitor.action_url(self.page, UPDATE_EMAIL) if updates_email else "",
            delete_account_url=visitor.action_url(self.page, DELETE_ACCOUNT) if deletes else "",
            message=message,
        )


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
        found = await self.credentials.list_credentials(visitor.caller)
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
            else LocalizedText("accountRecoveryCodesLeft", (str(codes.left), str(codes.total)))
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


@dataclass(frozen=True, slots=True)
class Certificates(PageHandler):
    """Lists the certificates."""

    certificates: AccountCertificates
    page: ClassVar = AccountPage.CERTIFICATES
    within: ClassVar = AccountPage.SIGNING_IN
    name: ClassVar = "accountCertificates"
    icon: ClassVar = AccountIcon.CERTIFICATE
    roles: ClassVar = (AccountRole.VIEW_PROFILE, AccountRole.MANAGE_ACCOUNT)

    async def show(self, visitor: Visitor, message: Message | None) -> CertificatesPage:
        found = await self.certificates.list_certificates(visitor.caller)
        return CertificatesPage(
            frame=visitor.frame,
            certificates=tuple(map(_certificate_row, found)),
            message=message,
        )


def _certificate_row(seen: SignInCertificate) -> CertificateRow:
    return CertificateRow(
        subject=seen.subject,
        issuer=seen.issuer,
        serial_number=seen.serial,
        address=seen.last_address,
        first_seen_at=seen.first_seen,
        last_seen_at=seen.last_seen,
    )


_LONGEST_SESSION_ID: Final = 64
"""Characters of the id of a session."""


@dataclass(frozen=True, slots=True)
class DeviceActivity(PageHandler):
    """Lists the sessions and ends them."""

    sessions: AccountSessions
    page: ClassVar = AccountPage.DEVICE_ACTIVITY
    name: ClassVar = "accountDevices"
    icon: ClassVar = AccountIcon.DEVICES
    roles: ClassVar = (AccountRole.VIEW_PROFILE, AccountRole.MANAGE_ACCOUNT)

    async def show(self, visitor: Visitor, message: Message | None) -> DeviceActivityPage:
        found = await self.sessions.list_sessions(visitor.caller)
        by_use = sorted(found, key=lambda one: one.session.refreshed_at, reverse=True)
        current_first = sorted(by_use, key=lambda one: not one.is_current)
        return DeviceActivityPage(
            frame=visitor.frame,
            action=visitor.url(self.page),
            sessions=tuple(map(_session_row, current_first)),
            may_end=visitor.caller.has(AccountRole.MANAGE_ACCOUNT),
            has_others=await self.sessions.has_others(visitor.caller),
            message=message,
        )

    async def change(self, visitor: Visitor) -> Notice | None:
        if "others" in visitor.form:
            await self.sessions.end_all(visitor.caller, current=False)
            return Notice.OTHERS_SIGNED_OUT
        named = visitor.form.get("session", "")
        if not named or len(named) > _LONGEST_SESSION_ID:
            return None
        await self.sessions.end(visitor.caller, named)
        return Notice.SIGNED_OUT


def _session_row(own: OwnSession) -> SessionRow:
    session, device = own.session, own.device
    return SessionRow(
        id=session.id,
        browser=_known(device.browser.replace("/", " ")),
        system=_known(f"{device.system} {device.system_version}"),
        is_mobile=device.mobile,
        address=session.ip_address,
        started_at=session.started_at,
        last_access_at=session.refreshed_at,
        expires_at=own.ends_at,
        applications=tuple(client.display.name or client.client_id for client in own.clients),
        is_current=own.is_current,
    )


def _known(name: str) -> str:
    """Return a name and its version as far as they are known, empty for an unknown name."""
    known = name.removesuffix(f" {UNKNOWN}")
    return "" if known == OTHER else known


_LONGEST_CLIENT_ID: Final = 255
"""Characters of the public name of a client."""


@dataclass(frozen=True, slots=True)
class ApplicationPages(PageHandler):
    """Lists the applications and removes their access."""

    applications: AccountApplications
    consents: AccountConsents
    page: ClassVar = AccountPage.APPLICATIONS
    name: ClassVar = "accountApplications"
    icon: ClassVar = AccountIcon.APPLICATIONS
    roles: ClassVar = (AccountRole.VIEW_APPLICATIONS, AccountRole.MANAGE_ACCOUNT)

    async def show(self, visitor: Visitor, message: Message | None) -> ApplicationsPage:
        caller = visitor.caller
        found = await self.applications.list_applications(caller)
        return ApplicationsPage(
            frame=visitor.frame,
            action=visitor.url(self.page),
            applications=tuple(_application_row(caller, one) for one in found),
            message=message,
        )

    async def change(self, visitor: Visitor) -> Notice | None:
        client_id = visitor.form.get("client", "")
        if not client_id or len(client_id) > _LONGEST_CLIENT_ID:
            return None
        try:
            await self.consents.revoke_consent(visitor.caller, client_id)
        except MissingPart:
            return None  # the application was removed meanwhile
        return Notice.CONSENT_REMOVED


def _application_row(caller: AccountCaller, own: OwnApplication) -> ApplicationRow:
    shown, consent = client_display(own.client), own.consent
    scopes = () if consent is None else shown_consent(caller, consent).scopes
    may_remove = caller.has(AccountRole.MANAGE_ACCOUNT, AccountRole.MANAGE_CONSENT)
    return ApplicationRow(
        client_id=own.client.client_id,
        name=shown.name,
        description=str(own.client.document.get("description") or ""),
        logo_url=shown.logo_url,
        url=shown.home_url,
        policy_url=shown.policy_url,
        terms_url=shown.terms_url,
        is_in_use=own.in_use,
        has_offline_access=own.offline_access,
        scopes=tuple(scope.consent_text for scope in scopes),
        consented_at=None if consent is None else consent.updated_at,
        may_remove=may_remove and (consent is not None or own.offline_access),
    )


@dataclass(frozen=True, slots=True)
class Groups(PageHandler):
    """Lists the groups."""

    groups: AccountGroups
    page: ClassVar = AccountPage.GROUPS
    name: ClassVar = "accountGroups"
    icon: ClassVar = AccountIcon.GROUP
    roles: ClassVar = (AccountRole.VIEW_GROUPS,)

    async def show(self, visitor: Visitor, message: Message | None) -> GroupsPage:
        found = await self.groups.list_groups(visitor.caller)
        rows = tuple(GroupRow(one.name, one.plain_path if one.parent else "") for one in found)
        return GroupsPage(frame=visitor.frame, groups=rows, message=message)
