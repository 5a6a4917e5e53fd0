"""Changing a realm's settings and name, removing it, and testing its mail server.

A removed realm loses its data in `master` and Redis. A mail server without a valid sender is
refused.
Keycloak: 7.1 (PUT and DELETE of a realm, testSMTPConnection, clear-realm-cache ...), 8.6 (rename,
removal)
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from gateway.admin.access import Acting, RoleIndex, administration_client, require_may_join
from gateway.admin.changes import Change, Changes
from gateway.admin.client_reach import rename_in_reaches, store_renamed_client
from gateway.admin.clients import renamed_clients
from gateway.admin.events import require_known_listeners
from gateway.admin.flows import require_bindable
from gateway.admin.groups import GivenGroups, load_groups, read_realm_groups
from gateway.admin.keys import ensure_keys
from gateway.admin.realms.listing import realm_document
from gateway.domain.clients import Client
from gateway.domain.errors import AlreadyExists
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.mail import MailKind, MailNotSent, mail_server, user_mail
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.outgoing import MailSender
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import MASTER, Realm, SessionLimits
from gateway.domain.refusals import InvalidRequest, MailFailed, NotFound
from gateway.representations.realms import (
    SmtpMap,
    keep_secrets,
    require_known_realm_fields,
    update_realm,
)

_KEYS: Final = ("privateKey", "publicKey", "certificate", "codeSecret")
_ADDRESS: Final = re.compile(r"[!-?A-~]{1,64}@[^@\s]+")
"""Its part before the @ in visible ASCII."""
_LONGEST_SHOWN: Final = 100
_HINT: Final = (
    "If the address contains UTF-8 characters in the local part please ensure the SMTP server"
    " supports the SMTPUTF8 extension and enable 'Allow UTF-8' in the email realm configuration."
)
_FAILED: Final = "Failed to send email"


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmAdministration:
    """Changes and removes realms. `listeners` are the names of event listeners."""

    changes: Changes
    keys: KeyFactory
    mail: MailSender
    online_sessions: OnlineSessionStore
    login_failures: LoginFailureStore
    listeners: Collection[str]

    async def update_realm(self, acting: Acting, document: Mapping[str, Any]) -> Realm:
        """Merge the settings of `document` into the realm; a name in it renames the realm.

        Users, clients, roles and other resources are ignored, as in Keycloak.
        Raises UnknownField, InvalidInput, InvalidRequest, AlreadyExists, PreconditionFailed.
        """
        require_known_realm_fields(document)
        _validate_document(document)
        async with self.changes.begin(acting, alone=True) as change:
            before = change.realm
            await change.require_loaded_match(realm_document, change.stores, before)
            realm = update_realm(document, before)
            if realm.session_limits != before.session_limits:
                _require_within_session(realm.session_limits)
            require_known_listeners(realm.events, before.events, self.listeners)
            await require_bindable(change.stores, before, realm.flows)
            if realm.name != before.name:
                await _rename_realm(change, realm)
            else:
                await change.replace_realm(realm)
            algorithms = (realm.signature_algorithm,)
            await ensure_keys(change.stores, realm, algorithms, self.keys, self.changes.clock)
            paths = {name: value for name, value in document.items() if name in _DEFAULT_GROUPS}
            if paths:
                await _set_default_groups(change, paths)
            change.invalidate(realm_topic(realm.id))
            change.record(OperationType.UPDATE, ResourceType.REALM, None, document)
        return realm

    async def remove_realm(self, acting: Acting) -> None:
        """Remove the realm, and its data in `master` and in Redis.

        Raises InvalidRequest for `master`, PreconditionFailed, and StoreUnavailable: then only
        sessions may be lost.
        """
        if acting.realm.name == MASTER:
            raise InvalidRequest("Can't remove master realm")
        async with self.changes.database.read() as stores:
            master = await stores.realms.find_by_name(MASTER)
        async with self.changes.begin(replace(acting, realm=master or acting.realm)) as change:
            realm = await change.stores.realms.get_for_update(acting.realm.name)
            if realm is None or realm.id != acting.realm.id:
                raise NotFound("Realm not found.")
            await change.require_loaded_match(realm_document, change.stores, realm)
            await change.stores.realms.remove_realm(realm.id)
            if master is not None:
                holder = await _administration(change.stores, master, realm)
                if holder is not None:
                    await change.stores.clients.remove_client(master.id, holder.id)
                    await rename_in_reaches(change.stores, master, holder.client_id, None)
                change.invalidate(realm_topic(master.id))
                change.record(OperationType.DELETE, ResourceType.REALM, realm.name)
            change.invalidate(realm_topic(realm.id))
            await self.online_sessions.end_of_realm(realm.id)
            await self.login_failures.clear_realm(realm.id)

    async def clear_caches(self, acting: Acting, path: str) -> None:
        """Remove settings, keys, clients and users of the realm from the caches of gateways.

        `path` is the path of the event.
        """
        async with self.changes.begin(acting) as change:
            change.record(OperationType.ACTION, ResourceType.REALM, path)
            change.invalidate(realm_topic(acting.realm.id))

    async def test_mail_server(self, acting: Acting, document: Mapping[str, Any]) -> None:
        """Send a mail to the caller by settings that need not be stored.

        A masked password is the stored one, if it is that of the same host. Raises InvalidInput,
        and MailFailed with the reason for the log.
        """
        settings = SmtpMap().read(document, "smtpServer")
        if acting.caller is None or not acting.caller.user.email:
            raise MailFailed(_FAILED, "the caller has no e-mail address")
        user, address = acting.caller.user, acting.caller.user.email
        async with self.changes.database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name) or acting.realm
        mail = user_mail(realm, user, address, MailKind.TEST, self.changes.clock.now())
        try:
            await self.mail.send(mail_server(keep_secrets(settings, realm.smtp)), mail)
        except MailNotSent as failure:
            # The caller would learn from the reason which addresses and ports exist.
            raise MailFailed(_FAILED, str(failure)) from failure


def require_sender(document: Mapping[str, Any]) -> None:
    """Raise InvalidRequest where a realm's document has a mail server without a valid sender."""
    server = document.get("smtpServer", document.get("smtp_server"))
    if not isinstance(server, Mapping) or not server:
        return
    _require_address(server.get("from"), "sender")
    if server.get("replyTo"):
        _require_address(server["replyTo"], "reply-to")


def _require_address(address: object, what: str) -> None:
    if _ADDRESS.fullmatch(str(address)) is None:
        shown = "null" if address is None else str(address)[:_LONGEST_SHOWN]
        raise InvalidRequest(f"Invalid {what} address '{shown}'. {_HINT}")


def _validate_document(document: Mapping[str, Any]) -> None:
    if "realm" in document and document["realm"] == "":
        raise InvalidRequest("Realm name cannot be empty")
    if document.get("certificate") in ("", 0):
        raise InvalidRequest("Failed to decode certificate")
    require_sender(document)
    sent = [name for name in _KEYS if document.get(name)]
    if sent:
        raise InvalidRequest(
            f"Keys are not changed with the realm ({', '.join(sent)}): add a component"
        )


def _require_within_session(limits: SessionLimits) -> None:
    """Raise InvalidRequest where clients' parts last longer than sessions, as Keycloak (26.7).

    A limit of zero is the usual one.
    """
    if limits.client_idle > limits.idle > timedelta():
        text = "Client Session Idle Timeout cannot be greater than Realm SSO Idle Timeout."
        raise InvalidRequest(text)
    if limits.client_max_lifespan > limits.max_lifespan > timedelta():
        text = "Client session max lifespan cannot exceed realm SSO session max lifespan."
        raise InvalidRequest(text)


async def _rename_realm(change: Change, realm: Realm) -> None:
    stores, before = change.stores, change.realm
    if before.name == MASTER:
        raise InvalidRequest("Can't rename master realm")
    if await stores.realms.find_by_name(realm.name) is not None:
        raise AlreadyExists("Realm with same name exists")
    await change.replace_realm(realm)
    for client in renamed_clients(await stores.clients.list_clients(realm.id), before, realm):
        await store_renamed_client(stores, client)
    master = await stores.realms.find_by_name(MASTER)
    if master is not None:
        holder = await _administration(stores, master, before)
        if holder is not None:
            name = administration_client(realm.name)
            await store_renamed_client(stores, replace(holder, client_id=name))
            await rename_in_reaches(stores, master, holder.client_id, name)
        change.invalidate(realm_topic(master.id))


async def _administration(stores: Stores, master: Realm, realm: Realm) -> Client | None:
    """Return the client in `master` with the roles over the realm."""
    return await stores.clients.find_by_client_id(master.id, administration_client(realm.name))


async def _set_default_groups(change: Change, paths: Mapping[str, Any]) -> None:
    """Replace the groups that new users join."""
    given = read_realm_groups(_with_slashes(paths), "")
    if given.default is None:
        return
    groups = await load_groups(change.stores, change.realm)
    wanted = groups.ids(given.default, given.default_at)
    changed = {*wanted} ^ {*groups.default}
    await require_may_join(change.acting, change.stores, sorted(changed))
    no_roles = RoleIndex(change.stores, change.realm, {})
    only_default = GivenGroups(default=given.default, default_at=given.default_at)
    await groups.store_groups(change.stores, change.realm, only_default, no_roles)


_DEFAULT_GROUPS: Final = ("defaultGroups", "default_groups")


def _with_slashes(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lists with a leading slash in each path, which Keycloak does not require."""
    return {
        name: [f"/{path}" if isinstance(path, str) and path[:1] != "/" else path for path in value]
        if isinstance(value, list)
        else value
        for name, value in paths.items()
    }
