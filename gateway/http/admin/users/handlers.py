"""GET /admin/realms/{realm}/users, .../users/count, .../users/{id}. Keycloak: 7.2."""

from typing import Final

from gateway.admin.access import Page
from gateway.admin.users import QUERY_USERS, VIEW_USERS, UserListing, read_attribute_query
from gateway.domain.users import UserQuery
from gateway.http.admin.instants import instant
from gateway.http.admin.operations import BRIEF, REALM, SEARCH, Operation, Query
from gateway.http.admin.requests import AdminRequest, document_reply, entity_reply
from gateway.http.replies import Reply
from gateway.protocol.parameters import Parameters
from gateway.representations.users import with_metadata

_TAG: Final = "Users"
_OWN: Final = ("username", "email", "firstName", "lastName")
_FILTERS: Final = (
    *(Query(name) for name in (*_OWN, "q")),
    *(Query(name, "boolean") for name in ("exact", "enabled", "emailVerified")),
    *(Query(name) for name in ("idpAlias", "idpUserId")),
    Query("createdAfter", summary="yyyy-MM-dd, or milliseconds since 1970"),
    Query("createdBefore", summary="yyyy-MM-dd, or milliseconds since 1970; that day included"),
)


class UsersHandlers:
    """Answers what is asked about the users of a realm."""

    def __init__(self, listing: UserListing) -> None:
        self._listing = listing

    async def page(self, request: AdminRequest) -> Reply:
        """Return the users that match, a page of them."""
        sent = request.query
        page = Page(*request.page(Page().maximum))
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
        document = await self._listing.one(request.realm, request.rights, user_id)
        if not request.flag("userProfileMetadata"):
            return entity_reply(document)
        metadata = await self._listing.metadata(request.realm)
        return entity_reply(document, with_metadata(document, metadata))

    async def unmanaged(self, request: AdminRequest) -> Reply:
        """Return the attributes of a user that the profile does not name."""
        found = await self._listing.unmanaged(request.realm, request.path["user_id"])
        return document_reply(found)


def _query(sent: Parameters) -> UserQuery:
    """Return what is asked for; what a user has of its own may stand in `q` as well."""
    asked = dict(read_attribute_query(sent.get("q") or ""))
    own = {name: asked.pop(name, None) for name in _OWN}
    texts = {name: own[name] if sent.get(name) is None else sent.get(name) for name in _OWN}
    since, until = instant(sent, "createdAfter"), instant(sent, "createdBefore")
    return UserQuery(
        search=(sent.get("search") or "").strip() or None,
        username=texts["username"],
        email=texts["email"],
        first_name=texts["firstName"],
        last_name=texts["lastName"],
        enabled=_flag(sent, "enabled"),
        email_verified=_flag(sent, "emailVerified"),
        exact=_flag(sent, "exact") is True,
        attributes=asked,
        created_from=since and since[0],
        created_until=until and until[1],
    )


def _asks_for_linked_users(sent: Parameters) -> bool:
    """Tell whether only users of an identity provider are meant: there are none yet."""
    return sent.get("idpAlias") is not None or sent.get("idpUserId") is not None


def _flag(sent: Parameters, name: str) -> bool | None:
    """Return a truth value, however it is capitalised; anything but true is false."""
    text = sent.get(name)
    return None if text is None else text.lower() == "true"


def operations(handlers: UsersHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    users = f"{REALM}/users"
    one = f"{users}/{{user_id}}"
    return (
        Operation(
            "GET",
            users,
            handlers.page,
            QUERY_USERS,
            "Users that match",
            _TAG,
            returns="[UserRepresentation]",
            query=(*SEARCH, *_FILTERS, BRIEF),
        ),
        Operation(
            "GET",
            f"{users}/count",
            handlers.count,
            QUERY_USERS,
            "How many users match",
            _TAG,
            returns="integer",
            query=(*SEARCH[:1], *_FILTERS),
        ),
        Operation(
            "GET",
            one,
            handlers.one,
            QUERY_USERS,
            "One user",
            _TAG,
            returns="UserRepresentation",
            query=(Query("userProfileMetadata", "boolean"),),
            versioned=True,
        ),
        Operation(
            "GET",
            f"{one}/unmanagedAttributes",
            handlers.unmanaged,
            VIEW_USERS,
            "Attributes of a user that the profile does not name",
            _TAG,
            returns="UnmanagedAttributes",
        ),
    )
