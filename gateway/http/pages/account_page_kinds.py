"""The kinds of pages of the account console. `PAGES` of `renderer.py` contains them."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from gateway.http.pages.account_views import (
    ApplicationsPage,
    CertificatesPage,
    DeviceActivityPage,
    GroupsPage,
    PersonalInfoPage,
    SigningInPage,
)
from gateway.http.pages.page_kind import PageKind, fixed_title

_ACCOUNT: Final = partial(PageKind, sends_form=True, id_prefix="", style_sheets=("account.css",))
ACCOUNT_PAGES: Final[Mapping[type, PageKind]] = {
    PersonalInfoPage: _ACCOUNT("account-personal-info", fixed_title("accountPersonalInfo")),
    SigningInPage: _ACCOUNT("account-signing-in", fixed_title("accountSigningIn")),
    DeviceActivityPage: _ACCOUNT("account-devices", fixed_title("accountDevices")),
    ApplicationsPage: _ACCOUNT("account-applications", fixed_title("accountApplications")),
    GroupsPage: _ACCOUNT("account-groups", fixed_title("accountGroups")),
    CertificatesPage: _ACCOUNT("account-certificates", fixed_title("accountCertificates")),
}
