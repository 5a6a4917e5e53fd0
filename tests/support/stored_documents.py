"""Values as they come back from their documents in the database."""

import json
from dataclasses import replace
from typing import Any

from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client
from gateway.domain.forward_auth import Site
from gateway.domain.realm import Realm
from gateway.storage.sql import clients, realms, sites


def stored(document: Any) -> Any:
    """Return the document as it is read from its column."""
    return json.loads(json.dumps(document, separators=(",", ":")))


def restored_realm(realm: Realm) -> Realm:
    """Return the realm without its secrets, which have columns of their own."""
    smtp = realm.smtp.with_secrets(None, None)
    document = stored(realms._CODEC.encode(replace(realm, smtp=smtp)))
    columns = {"id": realm.id, "name": realm.name, "enabled": realm.enabled}
    return realms._CODEC.decode(document, **columns)


def restored_client(client: Client) -> Client:
    """Return the client without its secrets."""
    document = stored(clients._CODEC.encode(client))
    return clients.decode_client(document, client.realm_id, client.id, client.client_id)


def restored_scope(scope: ClientScope) -> ClientScope:
    columns = ("id", "realm_id", "name", "realm_default")
    document = stored(clients._SCOPE_CODEC.encode(scope))
    return clients._SCOPE_CODEC.decode(document, **{n: getattr(scope, n) for n in columns})


def site_document(site: Site) -> dict[str, Any]:
    return sites._CODEC.encode(site)


def restored_site(site: Site) -> Site:
    return sites._CODEC.decode(stored(site_document(site)), name=site.name, realms=site.realms)
