"""Marks the address of a user as verified, by a link that was sent to it."""

from dataclasses import replace

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.errors import SignInRefused
from gateway.domain.events import EventError
from gateway.domain.flows import VERIFY_EMAIL
from gateway.protocol.action_tokens.handler import LinkVisit, refused_link
from gateway.protocol.authorization import PageError, PageMessage


def require_same_address(visit: LinkVisit, message: PageMessage) -> None:
    """Raise PageError where the user has another address than the link was sent to."""
    if visit.token.email is None or visit.token.email != visit.user.email:
        raise _another_address(visit, message)


async def mark_verified(updates: AccountUpdates, visit: LinkVisit, message: PageMessage) -> None:
    """Store that the address is verified; raises PageError where it was changed meanwhile."""
    realm = visit.request.realm.realm
    try:
        async with updates.begin(realm.id, visit.user.id) as update:
            if update.user.email != visit.token.email:
                raise _another_address(visit, message)
            verified = replace(update.user, email_verified=True)
            await update.replace(verified, performed=VERIFY_EMAIL)
    except SignInRefused as refusal:
        raise disabled_meanwhile(refusal) from refusal


def disabled_meanwhile(refusal: SignInRefused) -> PageError:
    """Return the page for a user who was disabled or removed since the link was checked."""
    message, error = PageMessage.accountDisabledMessage, refusal.event_error
    return refused_link(message, error, reason="disabled or removed meanwhile")


def _another_address(visit: LinkVisit, message: PageMessage) -> PageError:
    return refused_link(
        message,
        EventError.INVALID_EMAIL,
        reason="the address of the user is another one",
        client=visit.client.client,
    )
