"""Requires the rights of all accounts for changed settings that prove accounts.

What was is compared with what will be, so that another spelling makes no difference, and a value
that is sent again unchanged, or masked, needs no rights.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gateway.admin.access.access import Acting
from gateway.admin.access.account_proof.settings import (
    CLIENT_MEMBERS,
    REALM_MEMBERS,
    attribute_proves,
    member_proves,
)
from gateway.admin.access.escalation import has_every_right
from gateway.admin.access.privileged_objects import require_rights_of_realm_accounts
from gateway.domain.clients import Client
from gateway.domain.realm import Realm
from gateway.representations.clients import render_client
from gateway.representations.realms import render_realm

_ATTRIBUTES: Final = "attributes"


def require_may_change_realm(acting: Acting, before: Realm, after: Realm) -> None:
    """Raise MissingRights for a changed setting that proves accounts, unless the caller has all."""
    if before == after or has_every_right(acting):
        return
    was, will_be = (render_realm(realm, masked=False) for realm in (before, after))
    changed = [name for name in _changed(was, will_be) if member_proves(REALM_MEMBERS, name)]
    attributes = _changed(was[_ATTRIBUTES], will_be[_ATTRIBUTES])
    changed += [f"{_ATTRIBUTES}.{name}" for name in attributes if attribute_proves(name)]
    if after.not_before < before.not_before:
        # Tokens and sessions of all accounts that were rejected would be accepted again.
        changed.append("a lower notBefore")
    if changed:
        require_rights_of_realm_accounts(acting, ", ".join(changed))


def require_may_change_client(acting: Acting, before: Client | None, after: Client) -> None:
    """Raise the same for a changed or, without `before`, a new client."""
    if has_every_right(acting):
        return
    known = before or Client(id=after.id, realm_id=after.realm_id, client_id=after.client_id)
    was, will_be = (render_client(client, masked=False) for client in (known, after))
    changed = [name for name in _changed(was, will_be) if member_proves(CLIENT_MEMBERS, name)]
    if changed:
        require_rights_of_realm_accounts(acting, ", ".join(changed))


def _changed(was: Mapping[str, Any], will_be: Mapping[str, Any]) -> list[str]:
    names: Iterable[str] = {**was, **will_be}
    return [name for name in names if was.get(name) != will_be.get(name)]
