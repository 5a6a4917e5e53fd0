"""The row of impersonation: it answers with the cookies of a session of the user.

Keycloak: 7.2 users (POST users/{id}/impersonation, 26.7)
"""

from http import HTTPStatus

from gateway.admin.access import AdminRole
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.refusals import NotFound
from gateway.http.admin.operations import REALM, Operation
from gateway.http.admin.requests import AdminRequest
from gateway.http.browser import Cookie, CookieName, cookie_headers
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import JSON_UTF8, Reply, json_reply
from gateway.protocol.identity_cookie import issue_identity
from gateway.protocol.impersonation import Impersonation, Impersonator
from gateway.protocol.requests import Parameters, ProtocolRequest


class ImpersonationEndpoint:
    """Begins the session and sets the cookies of the browser that called."""

    def __init__(self, impersonation: Impersonation, context: RealmContext) -> None:
        self._impersonation = impersonation
        self._context = context

    def operations(self) -> tuple[Operation, ...]:
        """Return the row."""
        row = Operation(
            "POST",
            f"{REALM}/users/{{user_id}}/impersonation",
            "Impersonate a user: begin a session of the user in the caller's browser",
            self._impersonate,
            "Users",
            (AdminRole.IMPERSONATION,),
            returns="ImpersonationResult",
            status=HTTPStatus.OK,
        )
        return (row,)

    async def _impersonate(self, request: AdminRequest) -> Reply:
        entry, caller = await self._realm(request), request.acting.caller
        if request.facts is None or caller is None:
            raise ValueError("impersonation needs a request over HTTP")
        protocol = await self._context.request(
            entry, request.facts, Parameters(), uses_certificate=False
        )
        impersonator = Impersonator(caller, self._context.issuer(caller.realm.name))
        begun = await self._impersonation.begin(protocol, impersonator, request.path["user_id"])
        self._context.events.answered(protocol)
        cookies = issue_identity(entry, protocol.issuer, begun.session, protocol.now)
        headers = cookie_headers(
            protocol,
            (
                Cookie(CookieName.IDENTITY, cookies.identity, cookies.max_age),
                Cookie(CookieName.SESSION, cookies.session, cookies.session_max_age),
            ),
        )
        document = {"redirect": _account_url(protocol), "sameRealm": begun.same_realm}
        reply = json_reply(document, content_type=JSON_UTF8)
        return Reply(reply.status, (*reply.headers, *headers), reply.body)

    async def _realm(self, request: AdminRequest) -> RealmEntry:
        entry = await self._context.directory.realm(request.realm.name)
        if entry is None:
            raise NotFound("Realm not found.")
        return entry


def _account_url(request: ProtocolRequest) -> str:
    return f"{request.issuer}/account"
