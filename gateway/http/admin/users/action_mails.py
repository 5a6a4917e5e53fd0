"""The rows of mails with links to users. Keycloak: 7.2."""

from typing import Final

from gateway.admin.access import MalformedBody
from gateway.admin.users import VIEW_USERS, LinkRequest, UserActionMails
from gateway.http.admin.operations import (
    MANAGE_USERS,
    REALM,
    Body,
    Media,
    Operation,
    Query,
    Resource,
)
from gateway.http.admin.requests import AdminRequest, done
from gateway.http.replies import Reply

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
