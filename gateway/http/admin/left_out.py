"""What Keycloak's admin API has and this product has not, said in a sentence each.

Where Keycloak answers 404 for a feature that is off in the realm, so does this; else 501.
Keycloak: 7; https://www.keycloak.org/docs-api/latest/rest-api/index.html
"""

from collections.abc import Iterator
from typing import Final

from gateway.admin.access import AdminRole, Missing, MissingPart
from gateway.http.admin.operations import REALM, Operation, not_here
from gateway.http.admin.requests import AdminRequest, document_reply
from gateway.http.replies import Reply

_VIEW_PROVIDERS: Final = (
    AdminRole.VIEW_IDENTITY_PROVIDERS,
    AdminRole.MANAGE_IDENTITY_PROVIDERS,
)
FINE_GRAINED: Final = "Fine-grained admin permissions are left out: rights come from roles alone"
BROKERING: Final = "Identity brokering is not part of this product"
_AUTHORIZATION: Final = "Authorization services (UMA) are not part of this product"
_ORGANIZATIONS: Final = "Organizations not enabled for this realm."
_WORKFLOWS: Final = "Workflows are not part of this product"
_CREDENTIALS: Final = "Verifiable credentials are not part of this product"
_SAML: Final = "SAML is not part of this product"
_TEMPLATES: Final = "Client templates have become client scopes: ask below client-scopes"

_Group = dict[str, str]
"""Methods by path, below a place of the API."""

_RESOURCE_SERVER: Final[_Group] = {
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
}
_PROVIDERS: Final[_Group] = {
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
}
_ORGANIZATION: Final[_Group] = {
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
}
_WORKFLOW: Final[_Group] = {
    "": "GET POST",
    "migrate": "POST",
    "scheduled/{resource_id}": "GET",
    "{workflow_id}": "GET PUT DELETE",
    "{workflow_id}/activate/{type}/{resource_id}": "POST",
    "{workflow_id}/deactivate/{type}/{resource_id}": "POST",
}
_VERIFIABLE: Final[_Group] = {
    "credentials": "GET POST",
    "credentials/send-credential-offer": "PUT",
    "credentials/{scope_name}": "PUT DELETE",
    "issued-credentials": "GET",
    "issued-credentials/{credential_id}": "DELETE",
}
_MAPPERS: Final[_Group] = {
    "add-models": "POST",
    "models": "GET POST",
    "models/{mapper_id}": "GET PUT DELETE",
    "protocol/{protocol}": "GET",
}
_SCOPE_MAPPINGS: Final[_Group] = {
    "": "GET",
    "clients/{container}": "GET POST DELETE",
    "clients/{container}/available": "GET",
    "clients/{container}/composite": "GET",
    "realm": "GET POST DELETE",
    "realm/available": "GET",
    "realm/composite": "GET",
}
_CLIENT: Final = f"{REALM}/clients/{{client_id}}"
_IDENTITY_PROVIDER: Final = f"{REALM}/identity-provider"
_TEMPLATE: Final = f"{REALM}/client-templates/{{scope_id}}"


async def _no_providers(_: AdminRequest) -> Reply:
    return document_reply([])


def operations() -> tuple[Operation, ...]:
    """Return the rows."""
    return (
        *_organizations(),
        *_authorization(),
        *_identity_providers(),
        *_left_out(f"{REALM}/workflows", _WORKFLOW, "Workflows", _WORKFLOWS),
        *_left_out(
            f"{REALM}/users/{{user_id}}/vc", _VERIFIABLE, "Verifiable credentials", _CREDENTIALS
        ),
        *_client_templates(),
        *_of_clients(),
    )


def _organizations() -> Iterator[Operation]:
    """Keycloak answers 404 in a realm without them, and that text."""
    for method, path in _rows(f"{REALM}/organizations", _ORGANIZATION):
        yield not_here(method, path, "Organizations", _ORGANIZATIONS, MissingPart)


def _authorization() -> Iterator[Operation]:
    """Keycloak answers 404 for a client without them."""
    for method, path in _rows(f"{_CLIENT}/authz/resource-server", _RESOURCE_SERVER):
        yield not_here(method, path, "Authorization services", _AUTHORIZATION, Missing)


def _identity_providers() -> Iterator[Operation]:
    """There are none, which programs look for before they add one."""
    tag = "Identity providers"
    yield Operation(
        "GET",
        f"{_IDENTITY_PROVIDER}/instances",
        _no_providers,
        _VIEW_PROVIDERS,
        "Identity providers of the realm: none",
        tag,
        returns="[IdentityProviderRepresentation]",
    )
    yield from _left_out(_IDENTITY_PROVIDER, _PROVIDERS, tag, BROKERING)
    permissions = f"{_IDENTITY_PROVIDER}/instances/{{alias}}/management/permissions"
    yield from _left_out(permissions, {"": "GET PUT"}, tag, FINE_GRAINED)


def _client_templates() -> Iterator[Operation]:
    tag = "Client templates"
    collection = {"": "GET POST", "{scope_id}": "GET PUT DELETE"}
    yield from _left_out(f"{REALM}/client-templates", collection, tag, _TEMPLATES)
    yield from _left_out(f"{_TEMPLATE}/protocol-mappers", _MAPPERS, tag, _TEMPLATES)
    yield from _left_out(f"{_TEMPLATE}/scope-mappings", _SCOPE_MAPPINGS, tag, _TEMPLATES)


def _of_clients() -> Iterator[Operation]:
    tag = "Clients"
    yield from _left_out(f"{_CLIENT}/management/permissions", {"": "GET PUT"}, tag, FINE_GRAINED)
    saml = f"{_CLIENT}/evaluate-scopes/generate-example-saml-response"
    yield not_here("GET", saml, tag, _SAML)
    converter = "Client descriptions of other formats are not read: send a ClientRepresentation"
    yield not_here("POST", f"{REALM}/client-description-converter", tag, converter)
    policies = "The policies of client registration are fixed: see components"
    yield not_here("GET", f"{REALM}/client-registration-policy/providers", tag, policies)


def _left_out(base: str, group: _Group, tag: str, sentence: str) -> Iterator[Operation]:
    for method, path in _rows(base, group):
        yield not_here(method, path, tag, sentence)


def _rows(base: str, group: _Group) -> Iterator[tuple[str, str]]:
    for below, methods in group.items():
        for method in methods.split():
            yield method, f"{base}/{below}".rstrip("/")
