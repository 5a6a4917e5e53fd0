"""Clients: finding, adding and changing them, their secrets, keys, scopes and mappers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.domain.exports import load_exports

if TYPE_CHECKING:
    from gateway.admin.clients.administration import (
        AddressesRefused,
        ClientAdministration,
        DecidedReach,
    )
    from gateway.admin.clients.certificate_conflicts import (
        CertificateConflict,
        list_certificate_conflicts,
    )
    from gateway.admin.clients.credentials import ClientCertificateAdministration, ClientSecrets
    from gateway.admin.clients.defaults import (
        ACCOUNT,
        ACCOUNT_CONSOLE,
        BROKER,
        administration_holder,
        default_clients,
        renamed_clients,
    )
    from gateway.admin.clients.file_import import ClientReplacement, read_clients
    from gateway.admin.clients.listing import (
        MANAGE_CLIENTS,
        QUERY_CLIENTS,
        VIEW_CLIENTS,
        ClientListing,
        ClientQuery,
        changing_client,
        clients_out_of_reach,
        get_client,
        has_roles,
        load_client_document,
        require_may_widen_scope,
    )
    from gateway.admin.clients.nodes_and_devices import ClientDevices, ClientNodes
    from gateway.admin.clients.policies import (
        POLICIES,
        PROFILES,
        ClientPolicies,
        PolicyCaller,
        enforce_policies,
        refused_by_policies,
        updater_of,
    )
    from gateway.admin.clients.preparation import (
        add_service_account,
        lacks_service_account,
        service_account,
        service_account_name,
        with_rotation_applied,
    )
    from gateway.admin.clients.protocol_mappers import (
        MapperOwnerKind,
        ProtocolMapperAdministration,
    )
    from gateway.admin.clients.scopes import ScopeAdministration
    from gateway.admin.clients.sector_identifiers import SectorIdentifiers, sector_problem
else:
    __getattr__ = load_exports(__name__, __file__)


@dataclass(frozen=True, slots=True)
class ClientUseCases:
    """Every use case of clients; mappers and scope mappings are those of client scopes too."""

    listing: "ClientListing"
    administration: "ClientAdministration"
    secrets: "ClientSecrets"
    nodes: "ClientNodes"
    certificates: "ClientCertificateAdministration"
    devices: "ClientDevices"
    policies: "ClientPolicies"
    protocol_mappers: "Mapping[MapperOwnerKind, ProtocolMapperAdministration]"
    scopes: "ScopeAdministration"
