"""The one list of everything that decides how accounts and clients are proven.

A caller who changes such a setting could then sign in as any account of the realm: by a certificate
of an own authority, a link in a mail, a flow that asks for less. So each change needs the rights of
all of them (`require_rights_of_realm_accounts`). A value that is sent again unchanged, masked or in
another spelling needs none: the old setting is compared with the new one.

Every member and every attribute of a realm that acts, every member of a client and every operation
of the admin API but GET is in exactly one of the two parts of its list, with a reason of a few
words. A test fails for a name in neither, and an operation in neither stops the gateway. A new kind
of proof is one line of account_proof.toml. docs/decisions/0021-settings-that-prove-accounts.md
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gateway.admin.access.escalation import (
    has_every_right,
    require_rights_of_realm_accounts,
    require_rights_over_every_realm,
)
from gateway.admin.access.rights import Acting
from gateway.domain.clients import Client
from gateway.domain.realm import Realm
from gateway.domain.tables import read_table

_OWN_ATTRIBUTES: Final = "realmgate."


@dataclass(frozen=True, slots=True)
class ProofList:
    """Names of one kind with the reason for their place.

    A name that ends with `*` covers every name with that beginning; an exact name comes first.
    """

    proving: Mapping[str, str]
    harmless: Mapping[str, str]

    def proves(self, name: str) -> bool | None:
        """Return whether the setting decides how accounts are proven; None if it is not listed."""
        for listed, verdict in ((self.proving, True), (self.harmless, False)):
            if name in listed:
                return verdict
        for listed, verdict in ((self.proving, True), (self.harmless, False)):
            if any(each.endswith("*") and name.startswith(each[:-1]) for each in listed):
                return verdict
        return None


def _listed(members: Mapping[str, Mapping[str, Iterable[str]]]) -> ProofList:
    return ProofList(_by_name(members["proving"]), _by_name(members["harmless"]))


def _by_name(reasons: Mapping[str, Iterable[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for reason, names in reasons.items():
        for name in names:
            if found.setdefault(name, reason) is not reason:
                raise ValueError(f"{name} is listed twice")
    return found


_TABLE: Final = read_table("gateway.admin.access", "account_proof.toml")
REALM_MEMBERS: Final = _listed(_TABLE["realm_members"])
"""Members of RealmRepresentation, those of Keycloak 26.7 and the gateway's own."""
REALM_ATTRIBUTES: Final = _listed(_TABLE["realm_attributes"])
CLIENT_MEMBERS: Final = _listed(_TABLE["client_members"])
"""Members of ClientRepresentation."""


def member_proves(members: ProofList, name: str) -> bool:
    """Return whether a member decides how accounts are proven; unlisted members do."""
    return members.proves(name) is not False


def attribute_proves(name: str) -> bool:
    """Return whether an attribute of a realm does; of those not listed, the gateway's own do."""
    verdict = REALM_ATTRIBUTES.proves(name)
    return name.startswith(_OWN_ATTRIBUTES) if verdict is None else verdict


_REALM_PATH: Final = "/admin/realms/{realm}"


@dataclass(frozen=True, slots=True)
class OperationList(ProofList):
    """Operations as `METHOD /path`, the path below the realm.

    `proving` names the change of the operation. Operations `of_settings` write the members and
    attributes of the other lists: their use cases compare the old with the new values.
    """

    of_settings: Mapping[str, str]


def _by_operation(reasons: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the reason by operation; `reasons` has the methods of each path."""
    return _by_name(
        {
            reason: [
                f"{method} {path}" for path, methods in paths.items() for method in methods.split()
            ]
            for reason, paths in reasons.items()
        }
    )


OPERATIONS: Final = OperationList(
    **{part: _by_operation(reasons) for part, reasons in _TABLE["operations"].items()}
)
"""Operations of the admin API except GETs; an operation that is not supported is not listed."""


def operation_name(method: str, path: str) -> str:
    """Return how the list names an operation; `path` is the template of its URL."""
    return f"{method} {path.removeprefix(_REALM_PATH) or '/'}"


def proven_by_operation(method: str, path: str) -> str | None:
    """Return the change of an operation that proves accounts, None where its settings decide.

    Raises ValueError for an operation that is not listed.
    """
    name = operation_name(method, path)
    if name not in {**OPERATIONS.proving, **OPERATIONS.of_settings, **OPERATIONS.harmless}:
        raise ValueError(f"{name}: list it in account_proof.OPERATIONS")
    return OPERATIONS.proving.get(name)


_ATTRIBUTES: Final = "attributes"


def require_may_change_realm(acting: Acting, before: Realm, after: Realm, now: datetime) -> None:
    """Raise MissingRights for a changed setting that proves accounts, unless the caller has all.

    A disabled `master`, or one with a `notBefore` in the future, ends the access of the
    administrators of every realm.
    """
    if before == after or has_every_right(acting):
        return
    if before.enabled and not after.enabled:
        require_rights_over_every_realm(acting, "enabled")
    if after.not_before > max(before.not_before, now.timestamp()):
        require_rights_over_every_realm(acting, "notBefore")
    from gateway.representations.realms import render_realm  # noqa: PLC0415 - 60 ms of a command

    was, will_be = (render_realm(realm, masked=False) for realm in (before, after))
    changed = [name for name in _changed_names(was, will_be) if member_proves(REALM_MEMBERS, name)]
    attributes = _changed_names(was[_ATTRIBUTES], will_be[_ATTRIBUTES])
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
    from gateway.representations.clients import render_client  # noqa: PLC0415 - 50 ms of a command

    known = before or Client(id=after.id, realm_id=after.realm_id, client_id=after.client_id)
    was, will_be = (render_client(client, masked=False) for client in (known, after))
    changed = [name for name in _changed_names(was, will_be) if member_proves(CLIENT_MEMBERS, name)]
    if changed:
        require_rights_of_realm_accounts(acting, ", ".join(changed))


def _changed_names(was: Mapping[str, Any], will_be: Mapping[str, Any]) -> list[str]:
    names: Iterable[str] = {**was, **will_be}
    return [name for name in names if was.get(name) != will_be.get(name)]
