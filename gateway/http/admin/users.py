"""GET /admin/realms/{realm}/users, .../users/count, .../users/{id}. Keycloak: 7.2."""

import re
from typing import Final

from gateway.admin.errors import Missing
from gateway.admin.user_listing import Page, UserListing, read_attribute_query
from gateway.domain.users import UserQuery
from gateway.http.admin.endpoint import AdminRequest, document_reply
from gateway.http.replies import Reply
from gateway.protocol.parameters import Parameters

_STANDARD: Final = Page()
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_LARGEST: Final = 2**31 - 1


class UsersHandlers:
    """Answers what is asked about the users of a realm."""

    def __init__(self, listing: UserListing) -> None:
        """Read from `listing`."""
        self._listing = listing

    async def page(self, request: AdminRequest) -> Reply:
        """Return the users that match, a page of them."""
        sent = request.query
        first = _number(sent, "first")
        maximum = _number(sent, "max")
        page = Page(
            first=max(0, first or 0),
            maximum=_STANDARD.maximum if maximum is None else maximum if maximum >= 0 else None,
        )
        query = _query(sent)
        users = await self._listing.page(
            request.realm,
            request.rights,
            query,
            page,
            brief=_flag(sent, "briefRepresentation") is True,
        )
        return document_reply([] if _asks_for_linked_users(sent) else users)

    async def count(self, request: AdminRequest) -> Reply:
        """Return how many users match, a bare number."""
        sent = request.query
        number = await self._listing.count(request.realm, request.rights, _query(sent))
        return document_reply(0 if _asks_for_linked_users(sent) else number)

    async def one(self, request: AdminRequest) -> Reply:
        """Return one user by its id."""
        user_id = request.path["user_id"]
        return document_reply(await self._listing.one(request.realm, request.rights, user_id))


def _query(sent: Parameters) -> UserQuery:
    return UserQuery(
        search=(sent.get("search") or "").strip() or None,
        username=sent.get("username"),
        email=sent.get("email"),
        first_name=sent.get("firstName"),
        last_name=sent.get("lastName"),
        enabled=_flag(sent, "enabled"),
        email_verified=_flag(sent, "emailVerified"),
        exact=_flag(sent, "exact") is True,
        attributes=read_attribute_query(sent.get("q") or ""),
    )


def _asks_for_linked_users(sent: Parameters) -> bool:
    """Tell whether only users of an identity provider are meant: there are none yet."""
    return sent.get("idpAlias") is not None or sent.get("idpUserId") is not None


def _flag(sent: Parameters, name: str) -> bool | None:
    """Return a truth value, however it is capitalised; anything but true is false."""
    text = sent.get(name)
    return None if text is None else text.lower() == "true"


def _number(sent: Parameters, name: str) -> int | None:
    """Return a number; one that is none makes the URL one that does not exist."""
    text = sent.get(name)
    if text is None:
        return None
    if not _INTEGER.fullmatch(text) or abs(int(text)) > _LARGEST:
        raise Missing("HTTP 404 Not Found")
    return int(text)
