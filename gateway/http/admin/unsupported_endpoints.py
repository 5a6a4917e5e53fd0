"""The endpoints of Keycloak's admin API that the gateway does not support, in one table.

Each answers 501, or Keycloak's 404 where the feature is off in a realm or for a client, with the
sentence of its row. Keycloak: 7; https://www.keycloak.org/docs-api/latest/rest-api/index.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from gateway.domain.refusals import MissingPart, NotFound, NotSupported
from gateway.http.admin.operations import REALM, Decided, Operation, State
from gateway.http.admin.requests import AdminRequest
from gateway.http.replies import Reply


@dataclass(frozen=True, slots=True)
class UnsupportedFeature:
    """Endpoints of one feature; `endpoints` are methods by path below `base`, below the realm."""

    tag: str
    text: str
    """Public: the error of the response and the summary of the operation."""
    base: str
    endpoints: Mapping[str, str]
    error: type[NotSupported | NotFound | MissingPart] = NotSupported

    def operations(self) -> Iterator[Operation]:
        disabled = self.error is not NotSupported
        status = HTTPStatus.NOT_FOUND if disabled else HTTPStatus.NOT_IMPLEMENTED
        for path, methods in self.endpoints.items():
            url = "/".join(part for part in (REALM, self.base, path) if part)
            for method in methods.split():
                yield Operation(
                    *(method, url, self.text, self._refuse, self.tag, Decided.ANY_ROLE),
                    status=status,
                    state=State.NOT_SUPPORTED,
                )

    async def _refuse(self, _: AdminRequest) -> Reply:
        raise self.error(self.text)


_FINE_GRAINED: Final = "Fine-grained admin permissions are not supported: rights come from roles"
_BROKERING: Final = "Identity brokering is not supported"
_TEMPLATES: Final = "Client templates are not supported: use client scopes"
_FEDERATION: Final = "User federation is not supported"
_LATER: Final = "is not supported in this version"
_PERMISSIONS: Final = {"management/permissions": "GET PUT"}
_CLIENT: Final = "clients/{client_id}"
_USER: Final = "users/{user_id}"
_TEMPLATE: Final = "client-templates/{scope_id}"

UNSUPPORTED: Final = (
    UnsupportedFeature("Realms", _FINE_GRAINED, "", {"users-management-permissions": "GET PUT"}),
    UnsupportedFeature(
        "Realms",
        "Revocation lists are not cached: they are read again when their files change",
        "",
        {"clear-crl-cache": "POST"},
    ),
    UnsupportedFeature(
        "Realms",
        _FEDERATION,
        "",
        {"testLDAPConnection": "POST", "ldap-server-capabilities": "POST"},
    ),
    UnsupportedFeature("Realms", "Client types are not supported", "", {"client-types": "GET PUT"}),
    UnsupportedFeature(
        "Users", _BROKERING, _USER, {"federated-identity/{provider}": "POST DELETE"}
    ),
    UnsupportedFeature("Users", f"Impersonation {_LATER}", _USER, {"impersonation": "POST"}),
    UnsupportedFeature("Groups", _FINE_GRAINED, "groups/{group_id}", _PERMISSIONS),
    UnsupportedFeature("Roles", _FINE_GRAINED, "roles/{role_name}", _PERMISSIONS),
    UnsupportedFeature(
        "Client roles", _FINE_GRAINED, f"{_CLIENT}/roles/{{role_name}}", _PERMISSIONS
    ),
    UnsupportedFeature("Roles by id", _FINE_GRAINED, "roles-by-id/{role_id}", _PERMISSIONS),
    UnsupportedFeature(
        "Organizations",
        "Organizations not enabled for this realm.",
        "organizations",
        {
            "": "GET POST",
            "count": "GET",
            "members/{member_id}/organizations": "GET",
            "{org_id}": "GET PUT DELETE",
            "{org_id}/groups": "GET POST",
            "{org_id}/groups/group-by-path/{path:path}": "GET",
            "{org_id}/groups/{group_id}": "GET PUT DELETE",
            "{org_id}/groups/{group_id}/children": "GET POST",
            "{org_id}/groups/{group_id}/members": "GET",
            "{org_id}/groups/{group_id}/members/{user_id}": "PUT DELETE",
            "{org_id}/groups/{group_id}/role-mappings": "GET",
            "{org_id}/groups/{group_id}/role-mappings/clients/{client_id}": "GET POST DELETE",
            "{org_id}/groups/{group_id}/role-mappings/clients/{client_id}/available": "GET",
            "{org_id}/groups/{group_id}/role-mappings/clients/{client_id}/composite": "GET",
            "{org_id}/groups/{group_id}/role-mappings/realm": "GET POST DELETE",
            "{org_id}/groups/{group_id}/role-mappings/realm/available": "GET",
            "{org_id}/groups/{group_id}/role-mappings/realm/composite": "GET",
            "{org_id}/identity-providers": "GET POST",
            "{org_id}/identity-providers/{alias}": "GET DELETE",
            "{org_id}/identity-providers/{alias}/groups": "GET",
            "{org_id}/invitations": "GET",
            "{org_id}/invitations/{invitation_id}": "GET DELETE",
            "{org_id}/invitations/{invitation_id}/resend": "POST",
            "{org_id}/members": "GET POST",
            "{org_id}/members/count": "GET",
            "{org_id}/members/invite-existing-user": "POST",
            "{org_id}/members/invite-user": "POST",
            "{org_id}/members/{member_id}": "GET DELETE",
            "{org_id}/members/{member_id}/groups": "GET",
            "{org_id}/members/{member_id}/organizations": "GET",
        },
        MissingPart,
    ),
    UnsupportedFeature(
        "Authorization services",
        "Authorization services (UMA) are not supported",
        f"{_CLIENT}/authz/resource-server",
        {
            "": "GET PUT",
            "import": "POST",
            "permission": "GET POST",
            "permission/evaluate": "POST",
            "permission/providers": "GET",
            "permission/search": "GET",
            "permission/{type}": "GET POST",
            "permission/{type}/{policy_id}": "GET PUT DELETE",
            "policy": "GET POST",
            "policy/evaluate": "POST",
            "policy/providers": "GET",
            "policy/search": "GET",
            "policy/{type}": "GET POST",
            "policy/{type}/{policy_id}": "GET PUT DELETE",
            "resource": "GET POST",
            "resource/search": "GET",
            "resource/{resource_id}": "GET PUT DELETE",
            "resource/{resource_id}/attributes": "GET",
            "resource/{resource_id}/permissions": "GET",
            "resource/{resource_id}/scopes": "GET",
            "scope": "GET POST",
            "scope/search": "GET",
            "scope/{scope_id}": "GET PUT DELETE",
            "scope/{scope_id}/permissions": "GET",
            "scope/{scope_id}/resources": "GET",
            "settings": "GET",
        },
        NotFound,
    ),
    UnsupportedFeature(
        "Identity providers",
        _BROKERING,
        "identity-provider",
        {
            "import-config": "POST",
            "instances": "POST",
            "instances/{alias}": "GET PUT DELETE",
            "instances/{alias}/export": "GET",
            "instances/{alias}/mapper-types": "GET",
            "instances/{alias}/mappers": "GET POST",
            "instances/{alias}/mappers/{mapper_id}": "GET PUT DELETE",
            "instances/{alias}/reload-keys": "GET",
            "providers/{provider_id}": "GET",
            "upload-certificate": "POST",
        },
    ),
    UnsupportedFeature(
        "Identity providers", _FINE_GRAINED, "identity-provider/instances/{alias}", _PERMISSIONS
    ),
    UnsupportedFeature(
        "Workflows",
        "Workflows are not supported",
        "workflows",
        {
            "": "GET POST",
            "migrate": "POST",
            "scheduled/{resource_id}": "GET",
            "{workflow_id}": "GET PUT DELETE",
            "{workflow_id}/activate/{type}/{resource_id}": "POST",
            "{workflow_id}/deactivate/{type}/{resource_id}": "POST",
        },
    ),
    UnsupportedFeature(
        "Verifiable credentials",
        "Verifiable credentials are not supported",
        f"{_USER}/vc",
        {
            "credentials": "GET POST",
            "credentials/send-credential-offer": "PUT",
            "credentials/{scope_name}": "PUT DELETE",
            "issued-credentials": "GET",
            "issued-credentials/{credential_id}": "DELETE",
        },
    ),
    UnsupportedFeature(
        "Client templates",
        _TEMPLATES,
        "client-templates",
        {"": "GET POST", "{scope_id}": "GET PUT DELETE"},
    ),
    UnsupportedFeature(
        "Client templates",
        _TEMPLATES,
        f"{_TEMPLATE}/protocol-mappers",
        {
            "add-models": "POST",
            "models": "GET POST",
            "models/{mapper_id}": "GET PUT DELETE",
            "protocol/{protocol}": "GET",
        },
    ),
    UnsupportedFeature(
        "Client templates",
        _TEMPLATES,
        f"{_TEMPLATE}/scope-mappings",
        {
            "": "GET",
            "clients/{container}": "GET POST DELETE",
            "clients/{container}/available": "GET",
            "clients/{container}/composite": "GET",
            "realm": "GET POST DELETE",
            "realm/available": "GET",
            "realm/composite": "GET",
        },
    ),
    UnsupportedFeature("Clients", _FINE_GRAINED, _CLIENT, _PERMISSIONS),
    UnsupportedFeature(
        "Clients",
        "SAML is not supported",
        _CLIENT,
        {"evaluate-scopes/generate-example-saml-response": "GET"},
    ),
)


def unsupported_operations() -> Iterator[Operation]:
    """Return the rows of every unsupported endpoint."""
    for feature in UNSUPPORTED:
        yield from feature.operations()
