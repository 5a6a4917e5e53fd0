"""JSON of clients, their certificates and adapter configurations."""

from gateway.representations.clients.attributes import (
    ClientAttributes,
    is_left_out,
    stated_reach,
    with_reach_stated,
)
from gateway.representations.clients.certificates import (
    CERTIFICATE_ATTRIBUTES,
    JWT_CREDENTIAL,
    STANDARD_BITS,
    STANDARD_YEARS,
    KeyStoreRequest,
    key_of,
    parse_key_store_request,
    render_generated,
    render_key,
    with_key,
)
from gateway.representations.clients.client import (
    CLIENT_FIELDS,
    InheritedScopes,
    client_representation,
    parse_client,
    render_client,
    restore_client,
    with_client_settings,
)
from gateway.representations.clients.device_locks import parse_device_lock, render_device_lock
from gateway.representations.clients.installation import (
    INSTALLATIONS,
    Installation,
    InstallationKind,
    installation_document,
)
from gateway.representations.clients.reach import changes_reach, with_reach
from gateway.representations.clients.requests import (
    changed_client_document,
    failed_notifications,
    given_field,
    new_client_document,
    nodes_of,
    with_fields,
    with_nodes,
    with_protocol_defaults,
)
from gateway.representations.clients.secret_times import (
    replace_secrets,
    sealed_rotated_secret,
    with_creation_attributes,
    with_rotated_secret,
    with_sealed_rotated_secret,
    with_secret,
    with_secret_expiration,
    without_rotated_secret,
)
from gateway.representations.clients.settings import SECRET_EXPIRES
from gateway.representations.clients.uris import (
    WrongAddress,
    client_addresses,
    explained,
    origins_of,
    own_urls,
    redirect_uris,
    wrong_addresses,
)
