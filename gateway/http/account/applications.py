"""Applications: what the user uses, and what has access to the account."""

from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.accounts.applications import AccountApplications, OwnApplication
from gateway.accounts.consents import AccountConsents, shown_consent
from gateway.admin.access import MissingPart
from gateway.http.account.notices import Notice
from gateway.http.account.visitor import PageHandler, Visitor
from gateway.http.pages.account_views import AccountIcon, ApplicationRow, ApplicationsPage
from gateway.http.pages.page_values import Message
from gateway.http.sign_in.client_display import client_display
from gateway.protocol.account_console import AccountPage

_LONGEST: Final = 255
"""Characters of the public name of a client."""


@dataclass(frozen=True, slots=True)
class Applications(PageHandler):
    """Lists the applications and removes their access."""

    applications: AccountApplications
    consents: AccountConsents
    page: ClassVar = AccountPage.APPLICATIONS
    name: ClassVar = "accountApplications"
    icon: ClassVar = AccountIcon.APPLICATIONS
    roles: ClassVar = (AccountRole.VIEW_APPLICATIONS, AccountRole.MANAGE_ACCOUNT)

    async def show(self, visitor: Visitor, message: Message | None) -> ApplicationsPage:
        caller = visitor.caller
        found = await self.applications.list(caller)
        return ApplicationsPage(
            frame=visitor.frame,
            action=visitor.url(self.page),
            applications=tuple(_row(caller, one) for one in found),
            message=message,
        )

    async def change(self, visitor: Visitor) -> Notice | None:
        client_id = visitor.form.get("client", "")
        if not client_id or len(client_id) > _LONGEST:
            return None
        try:
            await self.consents.revoke(visitor.caller, client_id)
        except MissingPart:
            return None  # the application was removed meanwhile
        return Notice.CONSENT_REMOVED


def _row(caller: AccountCaller, own: OwnApplication) -> ApplicationRow:
    shown, consent = client_display(own.client), own.consent
    scopes = () if consent is None else shown_consent(caller, consent).scopes
    may_remove = caller.has(AccountRole.MANAGE_ACCOUNT, AccountRole.MANAGE_CONSENT)
    return ApplicationRow(
        client_id=own.client.client_id,
        name=shown.name,
        description=str(own.client.document.get("description") or ""),
        url=shown.home_url,
        policy_url=shown.policy_url,
        terms_url=shown.terms_url,
        is_in_use=own.in_use,
        has_offline_access=own.offline_access,
        scopes=tuple(scope.consent_text for scope in scopes),
        consented_at=None if consent is None else consent.updated_at,
        may_remove=may_remove and (consent is not None or own.offline_access),
    )
