"""Devices: where the user is signed in, and signing out there."""

from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.accounts.access import AccountRole
from gateway.accounts.sessions import AccountSessions, OwnSession
from gateway.domain.sessions import OTHER, UNKNOWN
from gateway.http.account.notices import Notice
from gateway.http.account.visitor import PageHandler, Visitor
from gateway.http.pages.account_views import AccountIcon, DeviceActivityPage, SessionRow
from gateway.http.pages.page_values import Message
from gateway.protocol.account_console import AccountPage

_LONGEST: Final = 64
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
        found = await self.sessions.list(visitor.caller)
        by_use = sorted(found, key=lambda one: one.session.refreshed_at, reverse=True)
        current_first = sorted(by_use, key=lambda one: not one.is_current)
        return DeviceActivityPage(
            frame=visitor.frame,
            action=visitor.url(self.page),
            sessions=tuple(map(_row, current_first)),
            may_end=visitor.caller.has(AccountRole.MANAGE_ACCOUNT),
            has_others=await self.sessions.has_others(visitor.caller),
            message=message,
        )

    async def change(self, visitor: Visitor) -> Notice | None:
        if "others" in visitor.form:
            await self.sessions.end_all(visitor.caller, current=False)
            return Notice.OTHERS_SIGNED_OUT
        named = visitor.form.get("session", "")
        if not named or len(named) > _LONGEST:
            return None
        await self.sessions.end(visitor.caller, named)
        return Notice.SIGNED_OUT


def _row(own: OwnSession) -> SessionRow:
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
