"""Groups: what the user is a member of."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.accounts.access import AccountRole
from gateway.accounts.groups import AccountGroups
from gateway.http.account.visitor import PageHandler, Visitor
from gateway.http.pages.account_views import AccountIcon, GroupRow, GroupsPage
from gateway.http.pages.page_values import Message
from gateway.protocol.account_console import AccountPage


@dataclass(frozen=True, slots=True)
class Groups(PageHandler):
    """Lists the groups."""

    groups: AccountGroups
    page: ClassVar = AccountPage.GROUPS
    name: ClassVar = "accountGroups"
    icon: ClassVar = AccountIcon.GROUP
    roles: ClassVar = (AccountRole.VIEW_GROUPS,)

    async def show(self, visitor: Visitor, message: Message | None) -> GroupsPage:
        found = await self.groups.list(visitor.caller)
        rows = tuple(GroupRow(one.name, one.plain_path if one.parent else "") for one in found)
        return GroupsPage(frame=visitor.frame, groups=rows, message=message)
