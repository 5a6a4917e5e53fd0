"""Which operations of the admin API decide how accounts are proven.

Operations that are not a GET and are supported: each stands in one part of the list.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.admin.access.account_proof.settings import ProofList

_REALM: Final = "/admin/realms/{realm}"


@dataclass(frozen=True, slots=True)
class OperationList(ProofList):
    """Operations as `METHOD /path`, the path below the realm.

    `proving` gives what the operation changes. Those `of_settings` write the members and attributes
    of the other lists: their use cases compare what was with what will be.
    """

    of_settings: Mapping[str, str]


def _by_operation(reasons: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the reason by operation; `reasons` has the methods of each path."""
    return {
        f"{method} {path}": reason
        for reason, paths in reasons.items()
        for path, methods in paths.items()
        for method in methods.split()
    }


OPERATIONS: Final = OperationList(
    proving=_by_operation(
        {
            "the authorities of certificates": {
                "/certificates/authorities": "POST",
                "/certificates/authorities/{sha256}": "DELETE",
            },
            "removing a denied certificate": {"/certificates/denied/{id}": "DELETE"},
            "an authentication flow": {
                "/authentication/flows": "POST",
                "/authentication/flows/{id}": "PUT DELETE",
                "/authentication/flows/{alias}/copy": "POST",
                "/authentication/flows/{alias}/executions": "PUT",
                "/authentication/flows/{alias}/executions/execution": "POST",
                "/authentication/flows/{alias}/executions/flow": "POST",
                "/authentication/executions": "POST",
                "/authentication/executions/{id}": "DELETE",
                "/authentication/executions/{id}/raise-priority": "POST",
                "/authentication/executions/{id}/lower-priority": "POST",
            },
            "the configuration of an authenticator": {
                "/authentication/executions/{id}/config": "POST",
                "/authentication/config": "POST",
                "/authentication/config/{config}": "PUT DELETE",
            },
            "a required action": {
                "/authentication/register-required-action": "POST",
                "/authentication/required-actions/{alias}": "PUT DELETE",
                "/authentication/required-actions/{alias}/config": "PUT DELETE",
                "/authentication/required-actions/{alias}/raise-priority": "POST",
                "/authentication/required-actions/{alias}/lower-priority": "POST",
            },
            "a component (a key, the user profile or a registration policy)": {
                "/components": "POST",
                "/components/{id}": "PUT DELETE",
            },
            "the user profile": {"/users/profile": "PUT"},
            "a text of pages and mails": {
                "/localization/{locale}": "POST DELETE",
                "/localization/{locale}/{key}": "PUT DELETE",
            },
        }
    ),
    of_settings=_by_operation(
        {
            "the realm's members and attributes": {"/": "PUT"},
            "clientPolicies and clientProfiles": {
                "/client-policies/policies": "PUT",
                "/client-policies/profiles": "PUT",
            },
            "the members about events": {"/events/config": "PUT"},
            "the client's members": {"/clients": "POST", "/clients/{client_id}": "PUT"},
            "members of clients, users, groups and roles": {"/partialImport": "POST"},
        }
    ),
    harmless=_by_operation(
        {
            "a new realm has no accounts yet, and its creator all rights over it": {
                "/admin/realms": "POST",
            },
            "proves nothing any more": {"/": "DELETE"},
            "only reads, or drops what is cached": {
                "/testSMTPConnection": "POST",
                "/partial-export": "POST",
                "/certificates/explain": "POST",
                "/client-description-converter": "POST",
                "/clear-realm-cache": "POST",
                "/clear-user-cache": "POST",
                "/clear-keys-cache": "POST",
            },
            "refuses more": {"/certificates/denied": "POST"},
            "ends sessions and tokens": {
                "/logout-all": "POST",
                "/push-revocation": "POST",
                "/sessions/{session_id}": "DELETE",
                "/users/{user_id}/logout": "POST",
                "/users/{user_id}/consents/{client}": "DELETE",
                "/clients/{client_id}/push-revocation": "POST",
            },
            "needs the rights of the user": {
                "/users/{user_id}": "PUT DELETE",
                "/users/{user_id}/reset-password": "PUT",
                "/users/{user_id}/credentials/{credential_id}": "DELETE",
                "/users/{user_id}/credentials/{credential_id}/userLabel": "PUT",
                "/users/{user_id}/credentials/{credential_id}/moveToFirst": "POST",
                "/users/{user_id}/credentials/{credential_id}/moveAfter/{previous_id}": "POST",
                "/users/{user_id}/disable-credential-types": "PUT",
                "/users/{user_id}/execute-actions-email": "PUT",
                "/users/{user_id}/send-verify-email": "PUT",
                "/users/{user_id}/reset-password-email": "PUT",
                "/attack-detection/brute-force/users/{user_id}": "DELETE",
            },
            "skips users with more rights": {"/attack-detection/brute-force/users": "DELETE"},
            "a new account has no rights of others": {"/users": "POST"},
            "rights: the caller grants those that it has": {
                "/users/{user_id}/groups/{group_id}": "PUT DELETE",
                "/groups": "POST",
                "/groups/{group_id}": "PUT DELETE",
                "/groups/{group_id}/children": "POST",
                "/default-groups/{group_id}": "PUT DELETE",
                "/roles": "POST",
                "/roles/{role_name}": "PUT DELETE",
                "/roles/{role_name}/composites": "POST DELETE",
                "/roles-by-id/{role_id}": "PUT DELETE",
                "/roles-by-id/{role_id}/composites": "POST DELETE",
                "/clients/{client_id}/roles": "POST",
                "/clients/{client_id}/roles/{role_name}": "PUT DELETE",
                "/clients/{client_id}/roles/{role_name}/composites": "POST DELETE",
                "/users/{user_id}/role-mappings/realm": "POST DELETE",
                "/users/{user_id}/role-mappings/clients/{client_id}": "POST DELETE",
                "/groups/{group_id}/role-mappings/realm": "POST DELETE",
                "/groups/{group_id}/role-mappings/clients/{client_id}": "POST DELETE",
                "/clients/{client_id}/administrative-roles": "PUT",
            },
            "proves the client alone: the rights of its service account are needed": {
                "/clients/{client_id}": "DELETE",
                "/clients/{client_id}/client-secret": "POST",
                "/clients/{client_id}/client-secret/rotated": "DELETE",
                "/clients/{client_id}/registration-access-token": "POST",
                "/clients/{client_id}/certificates/{attr}/generate": "POST",
                "/clients/{client_id}/certificates/{attr}/generate-and-download": "POST",
                "/clients/{client_id}/certificates/{attr}/download": "POST",
                "/clients/{client_id}/certificates/{attr}/upload": "POST",
                "/clients/{client_id}/certificates/{attr}/upload-certificate": "POST",
                "/clients/{client_id}/certificates/authorities": "POST",
                "/clients/{client_id}/certificates/authorities/{sha256}": "DELETE",
                "/clients/{client_id}/device-locks": "POST DELETE",
                "/clients/{client_id}/nodes": "POST",
                "/clients/{client_id}/nodes/{node}": "DELETE",
            },
            "clients that it registers have no rights of others": {
                "/clients-initial-access": "POST",
                "/clients-initial-access/{access_id}": "DELETE",
            },
            "what tokens contain, not for whom they are": {
                "/client-scopes": "POST",
                "/client-scopes/{scope_id}": "PUT DELETE",
                "/client-scopes/{scope_id}/protocol-mappers/models": "POST",
                "/client-scopes/{scope_id}/protocol-mappers/add-models": "POST",
                "/client-scopes/{scope_id}/protocol-mappers/models/{mapper_id}": "PUT DELETE",
                "/client-scopes/{scope_id}/scope-mappings/realm": "POST DELETE",
                "/client-scopes/{scope_id}/scope-mappings/clients/{container}": "POST DELETE",
                "/default-default-client-scopes/{scope_id}": "PUT DELETE",
                "/default-optional-client-scopes/{scope_id}": "PUT DELETE",
                "/clients/{client_id}/default-client-scopes/{scope_id}": "PUT DELETE",
                "/clients/{client_id}/optional-client-scopes/{scope_id}": "PUT DELETE",
                "/clients/{client_id}/protocol-mappers/models": "POST",
                "/clients/{client_id}/protocol-mappers/add-models": "POST",
                "/clients/{client_id}/protocol-mappers/models/{mapper_id}": "PUT DELETE",
                "/clients/{client_id}/scope-mappings/realm": "POST DELETE",
                "/clients/{client_id}/scope-mappings/clients/{container}": "POST DELETE",
            },
            "who may enter a service, not who is who": {
                "/guard/sites": "POST",
                "/guard/sites/{site}": "PUT DELETE",
            },
            "removes records": {"/events": "DELETE", "/admin-events": "DELETE"},
        }
    ),
)
"""Operations of the admin API except GETs; an operation that is not supported is not listed."""


def operation_name(method: str, path: str) -> str:
    """Return how the list names an operation; `path` is the template of its URL."""
    return f"{method} {path.removeprefix(_REALM) or '/'}"


def proven_by_operation(method: str, path: str) -> str | None:
    """Return what an operation changes that proves accounts, None where its settings decide.

    Raises ValueError for an operation that is not listed.
    """
    name = operation_name(method, path)
    if name not in {**OPERATIONS.proving, **OPERATIONS.of_settings, **OPERATIONS.harmless}:
        raise ValueError(f"{name}: list it in account_proof.OPERATIONS")
    return OPERATIONS.proving.get(name)
