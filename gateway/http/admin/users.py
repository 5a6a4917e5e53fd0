"""The rows of users: accounts, profile, credentials, mails, groups, sessions, lockouts.

The list of all current lockouts is our addition. Keycloak: 4.3 attack detection, 7.2 users,
UPConfig
"""

from typing import Any, Final

from gateway.admin.access import AdminRole, ListingPage
from gateway.admin.sessions import SessionAdministration
from gateway.admin.users import (
    LOCKOUTS_PATH,
    QUERY_USERS,
    VIEW_USERS,
    LinkRequest,
    Lockouts,
    UserActionMails,
    UserCredentials,
    UserGroups,
    UserListing,
    UserProfiles,
    UserUseCases,
    read_attribute_query,
)
from gateway.domain.refusals import MalformedBody
from gateway.domain.users import UserQuery
from gateway.http.admin.operations import (
    BRIEF,
    MANAGE_REALM,
    MANAGE_USERS,
    REALM,
    SEARCH,
    Body,
    Media,
    Operation,
    Query,
    Resource,
    as_caller,
    for_realm,
)
from gateway.http.admin.requests import (
    IS_BRIEF,
    AdminRequest,
    counted,
    document,
    document_reply,
    done,
    entity_reply,
    listing_page,
)
from gateway.http.replies import JSON_UTF8, Reply, large_json_reply
from gateway.protocol.requests import Parameters
from gateway.representations.users import with_metadata

_OWN: Final = ("username", "email", "firstName", "lastName")


async def list_users(listing: UserListing, request: AdminRequest) -> Reply:
    """Return a page of the users that match."""
    page, query = listing_page(request), _user_query(request)
    brief = request.flag("briefRepresentation")
    users = await listing.list_users(request.realm, request.rights, query, page, brief=brief)
    if _asks_for_linked_users(request.query):
        return document_reply([])
    return await large_json_reply(users, content_type=JSON_UTF8)


async def count_users(listing: UserListing, request: AdminRequest) -> Reply:
    """Return how many users match, as a bare number."""
    number = await listing.count_users(request.realm, request.rights, _user_query(request))
    return document_reply(0 if _asks_for_linked_users(request.query) else number)


async def get_user(listing: UserListing, request: AdminRequest) -> Reply:
    """Return one user, with the metadata of its profile where they are asked for."""
    user = await listing.get_user_document(request.realm, request.rights, request.path["user_id"])
    if not request.flag("userProfileMetadata"):
        return entity_reply(user)
    return entity_reply(user, with_metadata(user, await listing.get_metadata(request.realm)))


def _user_query(request: AdminRequest) -> UserQuery:
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
        enabled=_boolean(sent, "enabled"),
        email_verified=_boolean(sent, "emailVerified"),
        exact=_boolean(sent, "exact") is True,
        attributes=attributes,
        created_from=since and since[0],
        created_until=until and until[1],
    )


def _asks_for_linked_users(sent: Parameters) -> bool:
    """Tell whether only users of an identity provider are meant: there are none yet."""
    linked = sent.get("idpAlias") is not None or sent.get("idpUserId") is not None
    return linked and sent.get("search") is None


def _boolean(sent: Parameters, name: str) -> bool | None:
    """Return a boolean, in any case; anything but true is false."""
    text = sent.get(name)
    return None if text is None else text.lower() == "true"


_LIFESPAN: Final = Query("lifespan", "integer", "Seconds for which the link lasts")
_LINK: Final = (
    Query("client_id", summary="The client of the link, `account` without it"),
    Query("redirect_uri", summary="Where the page at the end leads to, an address of the client"),
)


def action_mail_operations(mails: UserActionMails) -> tuple[Operation, ...]:
    """Return the rows."""
    rows = Resource(f"{REALM}/users/{{user_id}}", "Users", VIEW_USERS, MANAGE_USERS)
    return (
        rows.put(
            "/execute-actions-email",
            "Send a user a mail with a link to perform required actions",
            lambda r: _execute_actions(mails, r),
            body=Body(media=Media.JSON, required=False),
            query=(*_LINK, _LIFESPAN),
        ),
        rows.put(
            "/send-verify-email",
            "Send a user a mail with a link to verify the address",
            lambda r: done(mails.verify_email(r.acting, r.path["user_id"], _link_request(r))),
            query=(*_LINK, _LIFESPAN),
        ),
        rows.put(
            "/reset-password-email",
            "Send a user a mail with a link to set a new password",
            lambda r: done(mails.reset_password(r.acting, r.path["user_id"], _link_request(r))),
            query=_LINK,
        ),
    )


async def _execute_actions(mails: UserActionMails, request: AdminRequest) -> Reply:
    actions = [] if request.body is None else request.body
    if not isinstance(actions, list) or not all(isinstance(one, str) for one in actions):
        raise MalformedBody("no list of texts", shape=True)
    user_id, asked = request.path["user_id"], _link_request(request)
    return await done(mails.execute_actions(request.acting, user_id, asked, actions))


def _link_request(request: AdminRequest) -> LinkRequest:
    query = request.query
    lifespan = request.number("lifespan")
    return LinkRequest(query.get("client_id"), query.get("redirect_uri"), lifespan)


_USERS: Final = f"{REALM}/users"
_USER: Final = f"{_USERS}/{{user_id}}"
_INSTANT: Final = "yyyy-MM-dd, or milliseconds since 1970"
_FILTERS: Final = (
    *(Query(name) for name in ("username", "email", "firstName", "lastName", "q")),
    *(Query(name, "boolean") for name in ("exact", "enabled", "emailVerified")),
    *(Query(name) for name in ("idpAlias", "idpUserId")),
    Query("createdAfter", summary=_INSTANT),
    Query("createdBefore", summary=f"{_INSTANT}; that day included"),
)


def user_operations(
    users: UserUseCases, sessions: SessionAdministration, mails: UserActionMails
) -> tuple[Operation, ...]:
    """Return every row about users."""
    return (
        *_accounts(users),
        *_profile(users.profiles),
        *_credentials(users.credentials),
        *_groups(users.groups),
        *_sessions(sessions),
        *_attack_detection(users.lockouts),
        *action_mail_operations(mails),
    )


def _accounts(users: UserUseCases) -> tuple[Operation, ...]:
    rows = Resource(_USERS, "Users", QUERY_USERS, MANAGE_USERS)
    listing, schema = users.listing, "UserRepresentation"
    update = "Update a user; fields that are not sent keep their values"
    return (
        rows.get(
            "",
            "List the users that match",
            lambda r: list_users(listing, r),
            returns=f"[{schema}]",
            query=(*SEARCH, *_FILTERS, BRIEF),
        ),
        rows.get(
            "/count",
            "Count the users that match",
            lambda r: count_users(listing, r),
            returns="integer",
            query=(*SEARCH[:1], *_FILTERS),
        ),
        rows.get(
            "/{user_id}",
            "Get a user",
            lambda r: get_user(listing, r),
            returns=schema,
            query=(Query("userProfileMetadata", "boolean"),),
            versioned=True,
        ),
        rows.get(
            "/{user_id}/unmanagedAttributes",
            "Get the attributes of a user that the user profile does not define",
            for_realm(listing.get_unmanaged_attributes),
            allowed=VIEW_USERS,
            returns="UnmanagedAttributes",
        ),
        *rows.entities(
            "/{user_id}",
            schema,
            creates=("Create a user", users.administration.create_user),
            replaces=(update, users.administration.update_user),
            deletes=("Delete a user", users.administration.remove_user),
        ),
    )


def _profile(profiles: UserProfiles) -> tuple[Operation, ...]:
    view = (*QUERY_USERS, AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM)
    rows = Resource(f"{_USERS}/profile", "User profile", view, MANAGE_REALM)
    return (
        rows.get(
            "",
            "Get the user profile: the attributes of users",
            for_realm(profiles.get_profile),
            returns="UPConfig",
            versioned=True,
        ),
        rows.put(
            "",
            "Replace the user profile; null restores the default",
            lambda r: _replace_profile(profiles, r),
            body=Body("UPConfig", Media.JSON, required=False),
            returns="UPConfig",
            status=200,
            versioned=True,
        ),
        rows.get(
            "/metadata",
            "Get the metadata of the user profile, for forms",
            for_realm(profiles.get_metadata),
            returns="UserProfileMetadata",
        ),
    )


async def _replace_profile(profiles: UserProfiles, request: AdminRequest) -> Reply:
    if not isinstance(request.body, dict | None):
        raise MalformedBody("no profile", shape=True)
    return await document(profiles.replace_profile(request.acting, request.body))


def _credentials(credentials: UserCredentials) -> tuple[Operation, ...]:
    rows = Resource(_USER, "Credentials of users", VIEW_USERS, MANAGE_USERS)
    return (
        rows.get(
            "/credentials",
            "List the credentials of a user, without their secrets",
            for_realm(credentials.list_credentials),
            returns="[CredentialRepresentation]",
        ),
        rows.get(
            "/configured-user-storage-credential-types",
            "List the types of credentials in the external store of a user: none",
            lambda r: _empty(credentials, r),
            returns="[string]",
        ),
        rows.get(
            "/federated-identity",
            "List the identities of a user at identity providers: none",
            lambda r: _empty(credentials, r),
            tag="Users",
            returns="[FederatedIdentityRepresentation]",
        ),
        rows.put(
            "/reset-password",
            "Set the password of a user",
            lambda r: done(
                credentials.reset_password(r.acting, r.path["user_id"], _object_or_nothing(r.body))
            ),
            body=Body("CredentialRepresentation", Media.JSON, required=False),
        ),
        rows.put(
            "/credentials/{credential_id}/userLabel",
            "Set the label of a credential",
            as_caller(credentials.label_credential),
            body=Body(media=Media.TEXT),
        ),
        rows.delete(
            "/credentials/{credential_id}",
            "Delete a credential",
            as_caller(credentials.remove_credential),
        ),
        rows.post(
            "/credentials/{credential_id}/moveToFirst",
            "Move a credential before all others",
            as_caller(credentials.move_credential),
            status=204,
        ),
        rows.post(
            "/credentials/{credential_id}/moveAfter/{previous_id}",
            "Move a credential behind another",
            as_caller(credentials.move_credential),
            status=204,
        ),
        rows.put(
            "/disable-credential-types",
            "Disable types of credentials: without effect, credentials can only be deleted",
            lambda r: _disable(credentials, r),
            body=Body(media=Media.JSON, required=False),
        ),
    )


async def _empty(credentials: UserCredentials, request: AdminRequest) -> Reply:
    await credentials.require_user(request.realm, request.path["user_id"])
    return document_reply([])


def _object_or_nothing(body: Any) -> dict[str, Any]:
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise MalformedBody("no object", shape=True)
    return body


async def _disable(credentials: UserCredentials, request: AdminRequest) -> Reply:
    types = request.body
    is_list = isinstance(types, list) and all(isinstance(item, str) for item in types)
    if types is not None and not is_list:
        raise MalformedBody("no list of texts", shape=True)
    return await done(credentials.require_user(request.realm, request.path["user_id"]))


def _search(request: AdminRequest) -> str:
    return request.text("search")


def _groups(groups: UserGroups) -> tuple[Operation, ...]:
    rows = Resource(f"{_USER}/groups", "Groups of users", VIEW_USERS, MANAGE_USERS)
    return (
        rows.get(
            "",
            "List the groups of a user",
            for_realm(
                groups.list_groups,
                search=_search,
                page=lambda r: ListingPage(*r.page()),
                brief=IS_BRIEF,
            ),
            returns="[GroupRepresentation]",
            query=(*SEARCH, BRIEF),
        ),
        rows.get(
            "/count",
            "Count the groups of a user",
            for_realm(groups.count_groups, search=_search, reply=counted),
            returns="Count",
            query=SEARCH[:1],
        ),
        rows.put("/{group_id}", "Add a user to a group", as_caller(groups.join_group)),
        rows.delete("/{group_id}", "Remove a user from a group", as_caller(groups.leave_group)),
    )


def _sessions(sessions: SessionAdministration) -> tuple[Operation, ...]:
    rows = Resource(_USER, "Sessions of users", VIEW_USERS, MANAGE_USERS)
    return (
        rows.get(
            "/sessions",
            "List the online sessions of a user",
            for_realm(sessions.list_online_sessions_of_user),
            returns="[UserSessionRepresentation]",
        ),
        rows.get(
            "/offline-sessions/{client}",
            "List the offline sessions of a user with a client",
            for_realm(sessions.list_offline_sessions_of_user),
            returns="[UserSessionRepresentation]",
        ),
        rows.get(
            "/consents",
            "List the clients with offline tokens of a user",
            for_realm(sessions.list_consents),
            returns="[object]",
        ),
        rows.delete(
            "/consents/{client}",
            "Revoke the offline tokens of a user for a client",
            as_caller(sessions.revoke_consent),
        ),
        rows.post(
            "/logout",
            "End the sessions of a user and reject its earlier tokens",
            as_caller(sessions.end_sessions_of_user),
            status=204,
            harmless="ending sessions gives no access: the user signs in again",
        ),
    )


def _attack_detection(lockouts: Lockouts) -> tuple[Operation, ...]:
    rows = Resource(f"{REALM}/{LOCKOUTS_PATH}", "Attack detection", VIEW_USERS, MANAGE_USERS)
    return (
        rows.get(
            "",
            "List the users that are locked out",
            for_realm(lockouts.render_lockouts),
            returns="[Lockout]",
        ),
        rows.delete(
            "",
            "Clear all login failures of the realm",
            as_caller(lockouts.clear_users),
        ),
        rows.get(
            "/{user_id}",
            "Get the login failures of a user",
            for_realm(lockouts.render_status),
            returns="BruteForceStatus",
        ),
        rows.delete(
            "/{user_id}",
            "Clear the login failures of a user",
            as_caller(lockouts.clear_user),
        ),
    )
