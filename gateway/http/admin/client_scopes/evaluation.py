"""The rows of a client's scopes in effect: claims and roles of its tokens.

Keycloak: 7.3 (evaluate-scopes)
"""

from typing import Final

from gateway.admin.client_scopes import VIEW_CLIENTS
from gateway.admin.users import VIEW_USERS
from gateway.http.admin.operations import REALM, Operation, Query, Resource
from gateway.http.admin.requests import AdminRequest, document
from gateway.http.realm_endpoint import RealmContext
from gateway.protocol.scope_evaluation import Evaluated, ExampleOf, ScopeEvaluation

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
    roles = "/scope-mappings/{container}"

    def example(request: AdminRequest) -> ExampleOf:
        return ExampleOf(
            user_id=request.query.get("userId"),
            issuer=context.issuer(request.realm.name),
            now=context.clock.now(),
            audience=request.query.get("audience"),
        )

    return (
        rows.get(
            "/protocol-mappers",
            "List the protocol mappers that apply to tokens of a client",
            lambda r: document(evaluation.mappers(_evaluated(r))),
            returns="[ProtocolMapperEvaluationRepresentation]",
            query=(_SCOPE,),
        ),
        rows.get(
            f"{roles}/granted",
            "List the roles that tokens of a client can contain",
            lambda r: document(evaluation.roles(_evaluated(r), r.path["container"], granted=True)),
            returns="[RoleRepresentation]",
            query=(_SCOPE,),
        ),
        rows.get(
            f"{roles}/not-granted",
            "List the roles that tokens of a client cannot contain",
            lambda r: document(evaluation.roles(_evaluated(r), r.path["container"], granted=False)),
            returns="[RoleRepresentation]",
            query=(_SCOPE,),
        ),
        rows.get(
            "/generate-example-access-token",
            "Generate the claims of an example access token",
            lambda r: document(evaluation.access_token(_evaluated(r), example(r))),
            also=VIEW_USERS,
            returns="object",
            query=_EXAMPLE,
        ),
        rows.get(
            "/generate-example-id-token",
            "Generate the claims of an example ID token",
            lambda r: document(evaluation.id_token(_evaluated(r), example(r))),
            also=VIEW_USERS,
            returns="object",
            query=_EXAMPLE,
        ),
        rows.get(
            "/generate-example-userinfo",
            "Generate an example userinfo response",
            lambda r: document(evaluation.userinfo(_evaluated(r), example(r))),
            also=VIEW_USERS,
            returns="object",
            query=_EXAMPLE,
        ),
    )


def _evaluated(request: AdminRequest) -> Evaluated:
    scope = request.query.get("scope") or ""
    return Evaluated(request.realm, request.path["client_id"], scope)
