"""GET /admin/realms/{realm}/users, .../users/count, .../users/{id}. Keycloak: 7.2."""

from typing import Final

from gateway.admin.access import (
    Page,
)
from gateway.admin.users import UserListing, read_attribute_query
from gateway.domain.users import UserQuery
from gateway.http.admin.requests import AdminRequest, document_reply, entity_reply
from gateway.http.replies import JSON_UTF8, Reply, large_json_reply
from gateway.protocol.parameters import Parameters
from gateway.representations.users import with_metadata

_OWN: Final = ("username", "email", "firstName", "lastName")


async def list_users(listing: UserListing, request: AdminRequest) -> Reply:
    """Return a page of the users that match."""
    page, query = Page(*request.page(Page().maximum)), _query(request)
    brief = request.flag("briefRepresentation")
    users = await listing.page(request.realm, request.rights, query, page, brief=brief)
    if _asks_for_linked_users(request.query):
        return document_reply([])
    return await large_json_reply(users, content_type=JSON_UTF8)


async def count_users(listing: UserListing, request: AdminRequest) -> Reply:
    """Return how many users match, as a bare number."""
    number = await listing.count(request.realm, request.rights, _query(request))
    return document_reply(0 if _asks_for_linked_users(request.query) else number)


async def get_user(listing: UserListing, request: AdminRequest) -> Reply:
    """Return one user, with the metadata of its profile where they are asked for."""
    user = await listing.one(request.realm, request.rights, request.path["user_id"])
    if not request.flag("userProfileMetadata"):
        return entity_reply(user)
    return entity_reply(user, with_metadata(user, await listing.metadata(request.realm)))


def _query(request: AdminRequest) -> UserQuery:
    """Return the filters; the fields of `_OWN` may be given in `q` as well."""
    sent = request.query
    attributes = dict(read_attribute_query(sent.get("q") or ""))
    own = {name: attributes.pop(name, None) for name in _OWN}
    texts = {name: own[name] if sent.get(name) is None else sent.get(name) for name in _OWN}
    since, until = request.instant("createdAfter"), request.instant("createdBefore")
    search = sent.get("search")
    if search is not None:
        # Keycloak does not look at the filters by attribute beside a search.
        attributes, texts = {}, dict.fromkeys(_OWN)
    return UserQuery(
        search=(search or "").strip() or None,
        username=texts["username"],
        email=texts["email"],
        first_name=texts["firstName"],
        last_name=texts["lastName"],
        enabled=_flag(sent, "enabled"),
        email_verified=_flag(sent, "emailVerified"),
        exact=_flag(sent, "exact") is True,
        attributes=attributes,
        created_from=since and since[0],
        created_until=until and until[1],
    )


def _asks_for_linked_users(sent: Parameters) -> bool:
    """Tell whether only users of an identity provider are meant: there are none yet."""
    linked = sent.get("idpAlias") is not None or sent.get("idpUserId") is not None
    return linked and sent.get("search") is None


def _flag(sent: Parameters, name: str) -> bool | None:
    """Return a boolean, in any case; anything but true is false."""
    text = sent.get(name)
    return None if text is None else text.lower() == "true"
