"""Views of the pages of accounts and protected sites: what themes are checked with."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from gateway.domain.localization import LocalizedText
from gateway.http.pages.account_views import (
    AccountFrame,
    AccountIcon,
    AccountLink,
    AccountView,
    ApplicationRow,
    ApplicationsPage,
    CertificateRow,
    CertificatesPage,
    CredentialRow,
    CredentialSection,
    DeviceActivityPage,
    GroupRow,
    GroupsPage,
    PersonalInfoPage,
    SessionRow,
    SigningInPage,
)
from gateway.http.pages.action_views import ProfileInput
from gateway.http.pages.page_values import Message, MessageKind, ShownApplication
from gateway.http.pages.views import NoAccessPage, SessionEndedPage, SignInFailedPage, SiteView

_URL: Final = "/realms/demo/account/"
_NOW: Final = datetime(2026, 3, 4, 9, 41, tzinfo=UTC)
_HOUR: Final = timedelta(hours=1)
_LINKS: Final = (
    AccountLink("accountPersonalInfo", _URL, AccountIcon.PERSON),
    AccountLink("accountSigningIn", f"{_URL}account-security/signing-in", AccountIcon.KEY),
    AccountLink("accountDevices", f"{_URL}account-security/device-activity", AccountIcon.DEVICES),
    AccountLink("accountApplications", f"{_URL}applications", AccountIcon.APPLICATIONS),
    AccountLink("accountGroups", f"{_URL}groups", AccountIcon.GROUP),
)


def _frame(current: int) -> AccountFrame:
    links = tuple(replace(link, is_current=place == current) for place, link in enumerate(_LINKS))
    return AccountFrame(
        username="maria.schmidt@example.com",
        full_name="Maria Schmidt",
        links=links,
        sign_out_url=f"{_URL}sign-out",
        token="token",  # noqa: S106 - a sample
    )


_CURRENT: Final = SessionRow(
    id="1",
    browser="Firefox 145",
    system="Windows",
    address="203.0.113.24",
    started_at=_NOW - 2 * _HOUR,
    last_access_at=_NOW,
    expires_at=_NOW + 8 * _HOUR,
    applications=("${client_account-console}", "Northwind Portal"),
    is_current=True,
)

ACCOUNT_SAMPLES: Final[Mapping[str, AccountView]] = {
    "account-personal-info": PersonalInfoPage(
        frame=_frame(0),
        action=_URL,
        fields=(
            ProfileInput(
                name="username", label="${username}", value="maria.schmidt", read_only=True
            ),
            ProfileInput(
                name="email",
                label="${email}",
                value="maria.schmidt@example.com",
                required=True,
            ),
            ProfileInput(name="firstName", label="${firstName}", value="Maria", required=True),
            ProfileInput(name="lastName", label="${lastName}", value="Schmidt", required=True),
        ),
        delete_account_url=f"{_URL}action?kc_action=delete_account",
        message=Message(LocalizedText("accountUpdatedMessage"), MessageKind.SUCCESS),
    ),
    "account-signing-in": SigningInPage(
        frame=_frame(1),
        sections=(
            CredentialSection(
                id="password",
                name="password",
                hint="accountPasswordHint",
                empty="accountNoPassword",
                icon=AccountIcon.PASSWORD,
                rows=(CredentialRow(created_at=_NOW - 700 * _HOUR, update_url=_URL),),
            ),
            CredentialSection(
                id="otp",
                name="otp-display-name",
                hint="accountOtpHint",
                empty="accountNoOtp",
                icon=AccountIcon.PHONE,
                rows=(
                    CredentialRow("Phone", _NOW - 700 * _HOUR, delete_url=_URL),
                    CredentialRow("FreeOTP on the tablet", _NOW - 30 * _HOUR, delete_url=_URL),
                ),
                set_up_url=_URL,
            ),
            CredentialSection(
                id="webauthn-passwordless",
                name="accountPasskeys",
                hint="accountPasskeysHint",
                empty="accountNoPasskeys",
                icon=AccountIcon.PASSKEY,
                set_up_url=_URL,
            ),
            CredentialSection(
                id="recovery-authn-codes",
                name="recovery-codes-label-default",
                hint="accountRecoveryCodesHint",
                empty="accountNoRecoveryCodes",
                icon=AccountIcon.CODES,
                rows=(
                    CredentialRow(
                        created_at=_NOW - 30 * _HOUR,
                        facts=(LocalizedText("accountRecoveryCodesLeft", ("9", "12")),),
                        update_url=_URL,
                        delete_url=_URL,
                    ),
                ),
            ),
        ),
        certificates_url=_URL,
    ),
    "account-certificates-none": CertificatesPage(frame=_frame(1), certificates=()),
    "account-devices": DeviceActivityPage(
        frame=_frame(2),
        action=_URL,
        has_others=True,
        sessions=(
            _CURRENT,
            SessionRow(
                id="2",
                browser="Mobile Safari 26.1",
                system="iOS 26.1",
                is_mobile=True,
                address="2001:db8:85a3::8a2e:370:7334",
                started_at=_NOW - 26 * _HOUR,
                last_access_at=_NOW - _HOUR,
                expires_at=_NOW + 4 * _HOUR,
                applications=("Northwind Portal",),
            ),
            SessionRow(
                id="3",
                address="198.51.100.7",
                started_at=_NOW - 5 * _HOUR,
                last_access_at=_NOW - 3 * _HOUR,
                expires_at=_NOW + 5 * _HOUR,
            ),
        ),
    ),
    "account-devices-alone": DeviceActivityPage(
        frame=_frame(2),
        action=_URL,
        has_others=False,
        sessions=(_CURRENT,),
        message=Message(LocalizedText("accountSignedOutMessage"), MessageKind.SUCCESS),
    ),
    "account-applications": ApplicationsPage(
        frame=_frame(3),
        action=_URL,
        applications=(
            ApplicationRow(
                client_id="northwind-portal",
                name="Northwind Portal",
                description="Orders, deliveries and invoices",
                url="https://portal.example.com/",
                is_in_use=True,
            ),
            ApplicationRow(
                client_id="northwind-mail",
                name="Northwind Mail",
                description="Mail and calendars on your devices",
                url="https://mail.example.com/",
                policy_url="https://www.example.com/privacy",
                terms_url="https://www.example.com/terms",
                has_offline_access=True,
                scopes=(
                    "${profileScopeConsentText}",
                    "${emailScopeConsentText}",
                    "${offlineAccessScopeConsentText}",
                ),
                consented_at=_NOW - 300 * _HOUR,
                may_remove=True,
            ),
            ApplicationRow(client_id="account-console", name="${client_account-console}"),
        ),
    ),
    "account-applications-none": ApplicationsPage(frame=_frame(3), action=_URL, applications=()),
    "account-groups": GroupsPage(
        frame=_frame(4),
        groups=(GroupRow("Sales"), GroupRow("Key Accounts", "/Sales/Europe/Key Accounts")),
    ),
    "account-groups-none": GroupsPage(frame=_frame(4), groups=()),
    "account-certificates": CertificatesPage(
        frame=_frame(1),
        certificates=(
            CertificateRow(
                subject="CN=Maria Schmidt,O=Northwind",
                issuer="CN=Northwind Users CA,O=Northwind",
                serial_number="4F:A0:91:5C",
                address="203.0.113.24",
                first_seen_at=_NOW - 700 * _HOUR,
                last_seen_at=_NOW - _HOUR,
            ),
        ),
    ),
}


_CLIENT: Final = ShownApplication(
    client_id="wiki", name="Wiki", home_url="https://wiki.example.com/"
)
_SIGN_IN: Final = "/.realmgate/sign-in?rd=https%3A%2F%2Fwiki.example.com%2Fedit"

SITE_SAMPLES: Final[Mapping[str, SiteView]] = {
    "site-session-ended": SessionEndedPage(sign_in_url=_SIGN_IN, client=_CLIENT),
    "site-no-access": NoAccessPage(
        username="maria.schmidt@example.com",
        switch_action="/.realmgate/sign-out?rd=https%3A%2F%2Fwiki.example.com%2Fadmin",
        session_code="code",
        error_id="7f3c1e5a9b2d4c60",
        client=_CLIENT,
    ),
    "site-no-access-anonymous": NoAccessPage(error_id="7f3c1e5a9b2d4c60"),
    "site-sign-in-failed": SignInFailedPage(
        message=LocalizedText("siteSignInExpired"),
        retry_url=_SIGN_IN,
        error_id="7f3c1e5a9b2d4c60",
        client=_CLIENT,
    ),
}
