"""A signed-in user on a page of the console, and what a page does."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.http.account.notices import Notice
from gateway.http.account.urls import action_url
from gateway.http.pages.account_views import AccountFrame, AccountIcon, AccountView
from gateway.http.pages.page_values import Message
from gateway.http.sign_in.account_urls import account_url
from gateway.protocol.account_console import AccountPage


@dataclass(frozen=True, slots=True)
class Visitor:
    """The signed-in user, and the frame of the page; `form` is what was sent, empty for a GET."""

    caller: AccountCaller
    frame: AccountFrame
    form: Mapping[str, str] = field(default_factory=dict, repr=False)

    def url(self, page: AccountPage) -> str:
        return account_url(self.caller.request.issuer, page)

    def action_url(self, page: AccountPage, action: str) -> str:
        """Return the link that begins a required action and leads back to the page."""
        return action_url(self.caller.request.issuer, page, action)


class PageHandler(ABC):
    """One page of the console. Methods raise AdminRefusal, InvalidInput and StoreUnavailable."""

    page: ClassVar[AccountPage]
    name: ClassVar[str]
    """The key of its text in the navigation."""
    icon: ClassVar[AccountIcon]
    within: ClassVar[AccountPage | None] = None
    """The page that leads to this one, which has no link in the navigation."""
    roles: ClassVar[tuple[AccountRole, ...]]
    """The user needs one of them."""

    @abstractmethod
    async def show(self, visitor: Visitor, message: Message | None) -> AccountView:
        """Return the page."""

    async def change(
        self,
        visitor: Visitor,  # noqa: ARG002 - this page has no form
    ) -> Notice | AccountView | None:
        """Take the form of the page.

        Return what was changed, the page again with what is wrong, or None where there is no form.
        """
        return None
