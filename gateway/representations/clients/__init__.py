"""JSON of clients, their certificates and adapter configurations."""

from typing import TYPE_CHECKING

from gateway.domain.exports import load_exports

if TYPE_CHECKING:
    from gateway.representations.clients.client import (
        CLIENT_FIELDS,
        InheritedScopes,
        changed_client_document,
        changes_reach,
        client_representation,
        failed_notifications,
        given_field,
        new_client_document,
        nodes_of,
        parse_client,
        render_client,
        with_client_settings,
        with_fields,
        with_nodes,
        with_protocol_defaults,
        with_reach,
    )
    from gateway.representations.clients.credentials import (
        JWT_CREDENTIAL,
        STANDARD_BITS,
        STANDARD_YEARS,
        KeyStoreRequest,
        key_of,
        parse_device_lock,
        parse_key_store_request,
        render_device_lock,
        render_generated,
        render_key,
        replace_secrets,
        with_creation_attributes,
        with_import_attributes,
        with_key,
        with_rotated_secret,
        with_rotated_secret_expiration,
        with_secret,
        with_secret_expiration,
        without_rotated_secret,
    )
    from gateway.representations.clients.installation import (
        INSTALLATIONS,
        Installation,
        InstallationKind,
        installation_document,
    )
    from gateway.representations.clients.validation import (
        ClientAttributesShape,
        WrongAddress,
        client_addresses,
        explained,
        is_left_out,
        own_urls,
        redirect_uris,
        stated_reach,
        with_reach_stated,
        wrong_addresses,
    )
else:
    __getattr__ = load_exports(__name__, __file__)
