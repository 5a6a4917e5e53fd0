"""The rows of a client's scopes in effect: claims and roles of its tokens.

Keycloak: 7.3 (evaluate-scopes)
"""

from collections.abc import Awaitable, Callable
from typing import Final

from gateway.admin.client_scopes import VIEW_CLIENTS, Evaluated, ExampleOf, ScopeEvaluation
from gateway.admin.users import VIEW_USERS
from gateway.http.admin.operations import REALM, Operation, Query, Resource
from gateway.http.admin.requests import AdminRequest, document
from gateway.http.realm_endpoint import RealmContext

_Generate = Callable[[Evaluated, ExampleOf], Awaitable[object]]
_SCOPE: Final = Query("scope", summary="As in a token request")
_EXAMPLE: Final = (
    _SCOPE,
    Query("userId", summary="The id of a user"),
    Query("audience", summary="A client, to which roles and audience are limited"),
)


def evaluation_operations(
    evaluation: ScopeEvaluation, context: RealmContext
) -> tuple[Operation, ...]:
    """Return every row about the evaluation of scopes."""
    path = f"{REALM}/clients/{{client_id}}/evaluate-scopes"
    rows = Resource(path, "Clients", VIEW_CLIENTS, ())

    def roles(path: str, what: str, *, granted: bool) -> Operation:
        return rows.get(
            f"/scope-mappings/{{container}}/{path}",
            f"List the roles that tokens of a client {what} contain",
            lambda r: document(
                evaluation.roles(_evaluated(r), r.path["container"], granted=granted)
            ),
            returns="[RoleRepresentation]",
            query=(_SCOPE,),
        )

    def example(path: str, what: str, generate: _Generate) -> Operation:
        return rows.get(
            f"/generate-example-{path}",
            f"Generate {what}",
            lambda r: document(generate(_evaluated(r), _example(context, r))),
            also=VIEW_USERS,
            returns="object",
            query=_EXAMPLE,
        )

    return (
        rows.get(
            "/protocol-mappers",
            "List the protocol mappers that apply to tokens of a client",
            lambda r: document(evaluation.mappers(_evaluated(r))),
            returns="[ProtocolMapperEvaluationRepresentation]",
            query=(_SCOPE,),
        ),
        roles("granted", "can", granted=True),
        roles("not-granted", "cannot", granted=False),
        example("access-token", "the claims of an example access token", evaluation.access_token),
        example("id-token", "the claims of an example ID token", evaluation.id_token),
        example("userinfo", "an example userinfo response", evaluation.userinfo),
    )


def _example(context: RealmContext, request: AdminRequest) -> ExampleOf:
    return ExampleOf(
        user_id=request.query.get("userId"),
        issuer=context.issuer(request.realm.name),
        now=context.clock.now(),
        audience=request.query.get("audience"),
    )


def _evaluated(request: AdminRequest) -> Evaluated:
    scope = request.query.get("scope") or ""
    return Evaluated(request.realm, request.path["client_id"], scope)
