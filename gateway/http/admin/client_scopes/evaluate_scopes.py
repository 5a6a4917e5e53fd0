"""What tokens of a client would say. Keycloak: 7.3 (evaluate-scopes)."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.client_scopes import VIEW_CLIENTS, Evaluated, ExampleOf, ScopeEvaluation
from gateway.http.admin.operations import REALM, AdminHandler, Operation, Query
from gateway.http.admin.requests import AdminRequest, document_reply
from gateway.http.realm_endpoint import RealmContext
from gateway.http.replies import Reply

_TAG: Final = "Clients"
_SCOPE: Final = Query("scope", summary="As in a request for a token")
_EXAMPLE: Final = (
    _SCOPE,
    Query("userId", summary="The id of a user"),
    Query("audience", summary="The one client whose roles and audience are wanted"),
)
_VIEW_USERS: Final = (AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)


class EvaluateScopesHandlers:
    """Answers what is asked about the tokens of a client."""

    def __init__(self, evaluation: ScopeEvaluation, context: RealmContext) -> None:
        self._evaluation = evaluation
        self._context = context

    async def mappers(self, request: AdminRequest) -> Reply:
        """Return the mappers that would act."""
        return document_reply(await self._evaluation.mappers(_evaluated(request)))

    def roles(self, *, granted: bool) -> AdminHandler:
        """Return what answers with the roles that tokens may carry, or may not."""

        async def answer(request: AdminRequest) -> Reply:
            container = request.path["container"]
            return document_reply(
                await self._evaluation.roles(_evaluated(request), container, granted=granted)
            )

        return answer

    async def access_token(self, request: AdminRequest) -> Reply:
        """Return what an access token would say."""
        asked, example = _evaluated(request), self._example(request)
        return document_reply(await self._evaluation.access_token(asked, example))

    async def id_token(self, request: AdminRequest) -> Reply:
        """Return what an ID token would say."""
        asked, example = _evaluated(request), self._example(request)
        return document_reply(await self._evaluation.id_token(asked, example))

    async def userinfo(self, request: AdminRequest) -> Reply:
        """Return what userinfo would say."""
        asked, example = _evaluated(request), self._example(request)
        return document_reply(await self._evaluation.userinfo(asked, example))

    def _example(self, request: AdminRequest) -> ExampleOf:
        return ExampleOf(
            user_id=request.query.get("userId"),
            issuer=self._context.issuer(request.realm.name),
            now=self._context.clock.now(),
            audience=request.query.get("audience"),
        )


def _evaluated(request: AdminRequest) -> Evaluated:
    scope = request.query.get("scope") or ""
    return Evaluated(request.realm, request.path["client_id"], scope)


def operations(handlers: EvaluateScopesHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    url = f"{REALM}/clients/{{client_id}}/evaluate-scopes"
    roles = f"{url}/scope-mappings/{{container}}"
    examples = (
        ("access-token", handlers.access_token, "an access token"),
        ("id-token", handlers.id_token, "an ID token"),
        ("userinfo", handlers.userinfo, "userinfo"),
    )
    return (
        Operation(
            *("GET", f"{url}/protocol-mappers", handlers.mappers, VIEW_CLIENTS),
            *("Mappers that would act in tokens of a client", _TAG),
            returns="[ProtocolMapperEvaluationRepresentation]",
            query=(_SCOPE,),
        ),
        Operation(
            *("GET", f"{roles}/granted", handlers.roles(granted=True), VIEW_CLIENTS),
            *("Roles that tokens of a client may carry", _TAG),
            returns="[RoleRepresentation]",
            query=(_SCOPE,),
        ),
        Operation(
            *("GET", f"{roles}/not-granted", handlers.roles(granted=False), VIEW_CLIENTS),
            *("Roles that tokens of a client may not carry", _TAG),
            returns="[RoleRepresentation]",
            query=(_SCOPE,),
        ),
        *(
            Operation(
                *("GET", f"{url}/generate-example-{name}", handler, VIEW_CLIENTS),
                *(f"What {what} would say", _TAG),
                also=_VIEW_USERS,
                returns="object",
                query=_EXAMPLE,
            )
            for name, handler, what in examples
        ),
    )
