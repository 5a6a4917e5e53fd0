"""The document of a realm as Keycloak 26.7 would write it: the first step of every import.

Old forms of members are rewritten whatever version wrote them; then the document is migrated by its
version. Both are done for a new realm, for one that exists and for a part of one, so that the
second import of a file does what the first did.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from gateway.admin.realm_files.former_members import with_current_members
from gateway.admin.realm_files.migration import migrated
from gateway.admin.realm_files.migration_steps import NEW_REALM, KnownObjects
from gateway.domain.flows import actions_in, flows_in
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.realm import Realm


async def to_current_form(
    stores: Stores, document: Mapping[str, Any], before: Realm | None
) -> Mapping[str, Any]:
    """Return the document in its current form; `before` is the realm that it is merged into."""
    known = NEW_REALM if before is None else await _load_known_objects(stores, before)
    # A whole realm takes seconds to rewrite: other requests go on meanwhile.
    return await asyncio.to_thread(_rewritten, document, known)


def _rewritten(document: Mapping[str, Any], known: KnownObjects) -> Mapping[str, Any]:
    return migrated(with_current_members(document, is_new=known.is_new), known)


async def _load_known_objects(stores: Stores, realm: Realm) -> KnownObjects:
    documents, realm_id = stores.documents, realm.id
    flows = await documents.list_documents(realm_id, DocumentKind.AUTHENTICATION_FLOW)
    configs = await documents.list_documents(realm_id, DocumentKind.AUTHENTICATOR_CONFIG)
    actions = await documents.list_documents(realm_id, DocumentKind.REQUIRED_ACTION)
    return KnownObjects(
        is_new=False,
        scopes=frozenset(each.name for each in await stores.client_scopes.list_values(realm_id)),
        flows=frozenset(flow.alias for flow in flows_in(realm_id, flows, configs)),
        actions=frozenset({*actions, *(each.alias for each in actions_in(actions))}),
    )
