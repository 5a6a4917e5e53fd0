"""The administrative use cases of clients, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.clients.administration import ClientAdministration
from gateway.admin.clients.certificates import ClientCertificates
from gateway.admin.clients.listing import ClientAccounts, ClientInstallation, ClientListing
from gateway.admin.clients.nodes import ClientNodes
from gateway.admin.clients.policies import ClientPolicies
from gateway.admin.clients.protocol_mappers import ProtocolMapperAdministration
from gateway.admin.clients.scope_assignment import ClientScopeAssignment
from gateway.admin.clients.scope_mappings import ScopeMappingAdministration
from gateway.admin.clients.secrets import ClientSecrets


@dataclass(frozen=True, slots=True)
class ClientUseCases:
    """Every use case of clients; mappers and scope mappings are those of client scopes too."""

    listing: ClientListing
    administration: ClientAdministration
    secrets: ClientSecrets
    accounts: ClientAccounts
    nodes: ClientNodes
    certificates: ClientCertificates
    installation: ClientInstallation
    policies: ClientPolicies
    protocol_mappers: ProtocolMapperAdministration
    scope_assignment: ClientScopeAssignment
    scope_mappings: ScopeMappingAdministration
