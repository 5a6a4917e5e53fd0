"""Personal info: the attributes of the user profile, and the way to delete the account."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.accounts.access import AccountRole
from gateway.accounts.profile import AccountProfile
from gateway.authentication.profile_updates import ProfileRejected
from gateway.domain.authentication import MessageKey, ProfileField
from gateway.domain.flows import DELETE_ACCOUNT, UPDATE_EMAIL
from gateway.domain.texts import Text
from gateway.http.account.notices import Notice
from gateway.http.account.visitor import PageHandler, Visitor
from gateway.http.pages.account_views import AccountIcon, PersonalInfoPage
from gateway.http.pages.page_values import Message
from gateway.http.sign_in.profile_inputs import profile_input
from gateway.protocol.account_console import AccountPage


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
            await self.profile.store(visitor.caller, visitor.form)
        except ProfileRejected as rejected:
            fields = self.profile.fields(visitor.caller, visitor.form, rejected)
            return self._page(visitor, fields, Message(Text(MessageKey.INVALID_PROFILE)))
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
