"""Another address of a user: at once, or once a link that was sent to it has been opened.

The address that waits for its link is the user attribute `kc.email.pending`: a later request, and
an administrator who removes it, end the link. So does another password: an attacker with the
account for a moment must not regain it by an older link. Keycloak: UpdateEmail, 16.1
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from gateway.authentication.account_updates import AccountUpdate, AccountUpdates
from gateway.authentication.address_notices import notify_previous_address
from gateway.authentication.engine.proven_password import current_password_mark
from gateway.authentication.link_mails import NotSent
from gateway.authentication.profile_updates import OwnProfile, ProfileChange, ProfileRejected
from gateway.authentication.unique_names import NameTaken, require_free_names
from gateway.domain.authentication.action_tokens import ActionToken
from gateway.domain.flows import UPDATE_EMAIL, VERIFY_EMAIL
from gateway.domain.limits.patterns import PatternMatches, repeat_while_pending
from gateway.domain.ports.storage import Stores
from gateway.domain.user_profile.profile import PENDING_EMAIL
from gateway.domain.users import User

QueueMail = Callable[[Stores, str], Awaitable[NotSent | None]]
"""Puts the mail to an address into the queue of a transaction."""


class LinkEnded(Exception):
    """The address that the link was sent to is not waited for any more."""


def pending_email(user: User) -> str | None:
    """Return the address that waits for its link."""
    return next(iter(user.attributes.get(PENDING_EMAIL, ())), None)


class EmailUpdates:
    """Changes addresses.

    Methods raise ProfileRejected for what is wrong with the address, SignInRefused for a user who
    was removed or disabled, and StoreUnavailable.
    """

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    async def store(self, profile: OwnProfile, user_id: str, address: str) -> ProfileChange:
        """Change the address at once; a new one is not verified."""
        attempt = partial(self._store, profile, user_id, address)
        return await repeat_while_pending(attempt)

    async def request(
        self, profile: OwnProfile, user_id: str, address: str, queue_mail: QueueMail
    ) -> tuple[str, NotSent | None]:
        """Send a link to the address as it would be stored; return it, and why no mail is sent."""
        attempt = partial(self._request, profile, user_id, address, queue_mail)
        return await repeat_while_pending(attempt)

    async def confirm(self, profile: OwnProfile, token: ActionToken) -> ProfileChange:
        """Change the address to that of a link, which has verified it; raises LinkEnded."""
        return await repeat_while_pending(partial(self._confirm, profile, token))

    async def _store(
        self, profile: OwnProfile, user_id: str, address: str, matches: PatternMatches
    ) -> ProfileChange:
        async with self._updates.begin(profile.entry.realm.id, user_id) as update:
            after = await _changed(profile, update, address, matches)
            await update.replace(_without_pending(after), performed=UPDATE_EMAIL)
            await notify_previous_address(update, profile.entry.realm, after)
        return ProfileChange(update.user, after)

    async def _request(
        self,
        profile: OwnProfile,
        user_id: str,
        address: str,
        queue_mail: QueueMail,
        matches: PatternMatches,
    ) -> tuple[str, NotSent | None]:
        async with self._updates.begin(profile.entry.realm.id, user_id) as update:
            wanted = (await _changed(profile, update, address, matches)).email or ""
            failure = await queue_mail(update.stores, wanted)
            if failure is None:
                attributes = {**update.user.attributes, PENDING_EMAIL: (wanted,)}
                await update.replace(replace(update.user, attributes=attributes))
        return wanted, failure

    async def _confirm(
        self, profile: OwnProfile, token: ActionToken, matches: PatternMatches
    ) -> ProfileChange:
        address = token.new_email or ""
        async with self._updates.begin(profile.entry.realm.id, token.user_id) as update:
            before = update.user
            if before.email != token.email or pending_email(before) != address:
                raise LinkEnded
            if token.password != await current_password_mark(update.stores, before):
                raise LinkEnded
            after = await _changed(profile, update, address, matches)
            left = tuple(one for one in after.required_actions if one != VERIFY_EMAIL)
            verified = replace(after, email_verified=True, required_actions=left)
            await update.replace(_without_pending(verified), performed=UPDATE_EMAIL)
            await notify_previous_address(update, profile.entry.realm, verified)
        return ProfileChange(before, verified)


async def _changed(
    profile: OwnProfile, update: AccountUpdate, address: str, matches: PatternMatches
) -> User:
    after = profile.with_email(update.user, address, matches)
    try:
        await require_free_names(update.stores, profile.entry.realm, after, update.user)
    except NameTaken as taken:
        raise ProfileRejected([profile.violation_of(taken)]) from taken
    return after


def _without_pending(user: User) -> User:
    others = {name: values for name, values in user.attributes.items() if name != PENDING_EMAIL}
    return replace(user, attributes=others)
