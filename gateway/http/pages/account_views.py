"""What each page of the account console shows, as in `views.py`.

Forms carry `token`, the secret of the forms of the session, in the hidden field `stateChecker`.
Times are aware; pages show them in UTC, and a script in the zone of the browser.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gateway.domain.localization import LocalizedText
from gateway.http.pages.action_views import ProfileInput
from gateway.http.pages.page_values import Message, View


class AccountIcon(StrEnum):
    """The picture of a link or a row."""

    HOME = "home"
    PERSON = "user"
    KEY = "key"
    DEVICES = "devices"
    APPLICATIONS = "grid"
    GROUP = "group"
    CERTIFICATE = "certificate"
    PASSWORD = "password"  # noqa: S105 - the name of a picture
    PHONE = "phone"
    COMPUTER = "computer"
    PASSKEY = "passkey"
    CODES = "list"


@dataclass(frozen=True, slots=True)
class AccountLink:
    """One page of the console in its navigation; `name` is the key of a text."""

    name: str
    url: str
    icon: AccountIcon
    is_current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFrame:
    """What every page of the console has around it: who is signed in, the pages, "Sign out"."""

    username: str = field(repr=False)
    full_name: str = field(default="", repr=False)
    links: tuple[AccountLink, ...]
    sign_out_url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView(View):
    """A page of the console."""

    frame: AccountFrame
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalInfoPage(AccountView):
    """The profile. Form `account-profile-form`; read only without `action`."""

    fields: tuple[ProfileInput, ...]
    action: str = ""
    update_email_url: str = ""
    delete_account_url: str = ""


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """One credential with its `label`; `facts` are further lines, empty links are not shown."""

    label: str = field(default="", repr=False)
    created_at: datetime | None = None
    facts: tuple[LocalizedText, ...] = ()
    update_url: str = ""
    delete_url: str = ""


@dataclass(frozen=True, slots=True)
class CredentialSection:
    """One kind of credential: `name`, `hint` and `empty` are keys of texts."""

    id: str
    name: str
    hint: str
    empty: str
    icon: AccountIcon
    rows: tuple[CredentialRow, ...] = ()
    set_up_url: str = ""
    set_up_name: str = "accountSetUp"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningInPage(AccountView):
    """The credentials of the user, with links that begin an action; empty links are not shown."""

    sections: tuple[CredentialSection, ...]
    certificates_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session on a device. `browser` and `system` are names, empty where none is known."""

    id: str = field(repr=False)
    browser: str = ""
    system: str = ""
    is_mobile: bool = False
    address: str = ""
    started_at: datetime
    last_access_at: datetime
    expires_at: datetime
    applications: tuple[str, ...] = ()
    """Names, as an administrator gave them."""
    is_current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceActivityPage(AccountView):
    """The sessions, the current one first; `has_others` counts offline ones too."""

    action: str
    sessions: tuple[SessionRow, ...]
    has_others: bool
    may_end: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationRow:
    """One application of the user; `name` and `scopes` may be `${key}`."""

    client_id: str
    name: str = ""
    description: str = ""
    logo_url: str = ""
    url: str = ""
    policy_url: str = ""
    terms_url: str = ""
    is_in_use: bool = False
    has_offline_access: bool = False
    scopes: tuple[str, ...] = ()
    """What the user has consented to."""
    consented_at: datetime | None = None
    may_remove: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationsPage(AccountView):
    """The applications that the user uses or has given access to. Field `client`."""

    action: str
    applications: tuple[ApplicationRow, ...]


@dataclass(frozen=True, slots=True)
class ProtectionRemedy:
    """A link to what sets a protection up; `name` is the key of a text."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class MissingProtectionRow:
    """One protection that the account lacks: `title` and `hint` are keys of texts."""

    title: str
    hint: str
    remedies: tuple[ProtectionRemedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage(AccountView):
    """The start page: the applications of the user, and what protections are missing."""

    applications: tuple[ApplicationRow, ...] = ()
    applications_url: str = ""
    """Empty for users who may not see their applications."""
    shows_protection: bool = False
    missing: tuple[MissingProtectionRow, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group; `path` is that of one inside another group, empty for others."""

    name: str
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPage(AccountView):
    """The groups of the user."""

    groups: tuple[GroupRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateRow:
    """A client certificate that the user has signed in with."""

    subject: str = field(repr=False)
    issuer: str = ""
    serial_number: str = ""
    address: str = ""
    first_seen_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificatesPage(AccountView):
    """The client certificates that the user has signed in with."""

    certificates: tuple[CertificateRow, ...]
