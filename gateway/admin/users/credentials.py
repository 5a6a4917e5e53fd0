"""The credentials of a user, mails with links that let users set them, and hashes of passwords.

SQLite has one writer, and each hash takes long, so hashes are computed before a transaction opens.
A hash that was not precomputed, because the realm changed meanwhile, is computed on demand.
Keycloak: 7.2 (credentials, reset-password, execute-actions-email)
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from gateway.admin.access import Acting, existing, get_user, get_user_for_update
from gateway.admin.changes import Administration, Change, Changes
from gateway.admin.users.administration import invalidate_user
from gateway.authentication.action_tokens import LinkMail, new_action_token
from gateway.authentication.engine.proofs import current_credentials_mark
from gateway.authentication.passwords import PasswordChanges, until_unchanged, with_update_password
from gateway.domain.authentication import ActionTokenKind
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidInput
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import UPDATE_PASSWORD, VERIFY_EMAIL
from gateway.domain.mail import MailKind, MailNotSent, mail_server
from gateway.domain.ports.credentials import PasswordMaker
from gateway.domain.ports.lookups import Directory, RealmEntry
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, MailFailed, NotFound, WireFamily
from gateway.domain.secrets import Secret
from gateway.domain.users import PRIORITY_STEP, Credential, User
from gateway.representations.users import (
    NewPassword,
    listed_credential,
    parse_label,
    parse_new_password,
)


class PrecomputedHashes:
    """PasswordMaker that returns each hash once: two users of one password share no salt."""

    def __init__(self, passwords: PasswordMaker) -> None:
        self._passwords = passwords
        self._hashes: defaultdict[tuple[str, str | None, int | None], list[tuple[str, str]]]
        self._hashes = defaultdict(list)

    async def compute(self, realm: Realm, new: Iterable[NewPassword]) -> None:
        """Compute the hashes of passwords of one realm, by its policy."""
        algorithm = realm.password_policy.hash_algorithm
        iterations = realm.password_policy.hash_iterations
        for credential in new:
            try:
                made = await self._passwords.hash(
                    credential.password,
                    realm_id=realm.id,
                    algorithm=algorithm,
                    iterations=iterations,
                )
            except InvalidInput:
                # `hash` reports it, together with what else is wrong.
                continue
            self._hashes[credential.password.reveal(), algorithm, iterations].append(made)

    def clear(self) -> None:
        """Remove the hashes that were not used."""
        self._hashes.clear()

    async def hash(
        self,
        password: Secret,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
    ) -> tuple[str, str]:
        made = self._hashes.get((password.reveal(), algorithm, iterations))
        if made:
            return made.pop()
        return await self._passwords.hash(
            password, realm_id=realm_id, algorithm=algorithm, iterations=iterations
        )


_SERVICE_ACCOUNT: Final = "You can not manage credentials for this user"


class UserCredentials(Administration):
    """The use cases. All raise NotFound and StoreUnavailable, changes also Forbidden."""

    def __init__(self, changes: Changes, passwords: PasswordChanges) -> None:
        super().__init__(changes)
        self._passwords = passwords

    async def list_credentials(self, realm: Realm, user_id: str) -> list[dict[str, Any]]:
        """Return the credentials in their order, without secrets."""
        await self.require_user(realm, user_id)
        async with self._database.read() as stores:
            held = await stores.users.credentials(realm.id, user_id)
        return [listed_credential(credential) for credential in held]

    async def reset_password(
        self, acting: Acting, user_id: str, document: Mapping[str, Any]
    ) -> None:
        """Set the password, which has to be changed at the next sign-in if it is `temporary`.

        Raises InvalidInput, PasswordRefused among it, and Overloaded.
        """
        await self.require_user(acting.realm, user_id)
        given = parse_new_password(document)
        if given is None:
            raise InvalidRequest("No password provided", WireFamily.PROSE)
        if not given.password.reveal().strip():
            raise InvalidRequest("Empty password not allowed", WireFamily.PROSE)
        await until_unchanged(lambda: self._attempt(acting, user_id, given))

    async def label_credential(
        self, acting: Acting, user_id: str, credential_id: str, text: str
    ) -> None:
        label = parse_label(text, "userLabel")
        if label is None:
            raise InvalidRequest(
                "Credential label must not be empty",
                WireFamily.OAUTH,
                code="missingCredentialLabel",
            )
        async with self._changes.begin(acting) as change:
            user, _, credential = await _get_credential(change, user_id, credential_id)
            named = replace(credential, label=label)
            await change.stores.users.update_label_and_priority(change.realm.id, named)
            _record_credential(change, user, f"credentials/{credential.id}/userLabel")

    async def remove_credential(self, acting: Acting, user_id: str, credential_id: str) -> None:
        async with self._changes.begin(acting) as change:
            user, _, credential = await _get_credential(change, user_id, credential_id)
            await change.stores.users.remove_credential(change.realm.id, credential)
            _record_credential(change, user, f"credentials/{credential.id}")

    async def move_credential(
        self, acting: Acting, user_id: str, credential_id: str, after: str | None = None
    ) -> None:
        """Move a credential behind `after`, or before all others where that is None."""
        async with self._changes.begin(acting) as change:
            user, held, credential = await _get_credential(change, user_id, credential_id)
            others = [one for one in held if one.id != credential.id]
            places = [one.id for one in others]
            if after is None:
                place, path = 0, "moveToFirst"
            elif after == credential.id:
                return
            elif after in places:
                place, path = places.index(after) + 1, f"moveAfter/{after}"
            else:
                raise NotFound("Credential not found")
            await _store_order(change, [*others[:place], credential, *others[place:]])
            _record_credential(change, user, f"credentials/{credential.id}/{path}")

    async def require_user(self, realm: Realm, user_id: str) -> None:
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)

    async def _attempt(self, acting: Acting, user_id: str, given: NewPassword) -> None:
        async with self._database.read() as stores:
            realm = existing(await stores.realms.find_by_name(acting.realm.name), "User not found")
            user = await get_user(stores, realm.id, user_id)
            if user.service_account_client is not None:
                raise InvalidRequest(_SERVICE_ACCOUNT, WireFamily.OAUTH, code=_SERVICE_ACCOUNT)
            held = await stores.users.credentials(realm.id, user.id)
        prepared = await self._passwords.prepare(realm, user, held, given.password)
        async with self._changes.begin(acting) as change:
            user = await get_user_for_update(change.stores, change.realm.id, user_id)
            await self._passwords.store(change.stores, change.realm, user, prepared)
            after = with_update_password(user, temporary=given.temporary)
            if after != user:
                await change.stores.users.replace(after)
            _record_credential(change, user, "reset-password")


async def _get_credential(
    change: Change, user_id: str, credential_id: str
) -> tuple[User, Sequence[Credential], Credential]:
    """Return the user with its row locked, its credentials, and one of them; raises NotFound."""
    user = await get_user_for_update(change.stores, change.realm.id, user_id)
    held = await change.stores.users.credentials(change.realm.id, user.id)
    credential = next((one for one in held if one.id == credential_id), None)
    return user, held, existing(credential, "Credential not found")


async def _store_order(change: Change, credentials: Sequence[Credential]) -> None:
    for place, credential in enumerate(credentials, start=1):
        if credential.priority != place * PRIORITY_STEP:
            moved = replace(credential, priority=place * PRIORITY_STEP)
            await change.stores.users.update_label_and_priority(change.realm.id, moved)


def _record_credential(change: Change, user: User, path: str) -> None:
    change.record(OperationType.ACTION, ResourceType.USER, f"users/{user.id}/{path}")
    invalidate_user(change, user)


_OWN_CLIENT: Final = "account"
"""The client of a link that names none."""
_EXECUTE_ACTIONS: Final = "execute-actions-email"
_RESET_PASSWORD: Final = "reset-password-email"  # noqa: S105 - a part of a path
_VERIFY_EMAIL: Final = "send-verify-email"
_NOT_VERIFIED: Final = "Failed to send verify email"
_NOT_EXECUTED: Final = "Failed to send execute actions email: "


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """The link that an administrator requests; `lifespan` is in seconds."""

    client_id: str | None = None
    redirect_uri: str | None = None
    lifespan: int | None = None


class UserActionMails(Administration):
    """Puts the mails into the queue.

    `issuer` returns the URL of a realm by its name. Methods raise NotFound, Forbidden,
    InvalidRequest, MailFailed where the realm cannot send or a limit is reached, and
    StoreUnavailable.
    """

    def __init__(
        self, changes: Changes, directory: Directory, issuer: Callable[[str], str]
    ) -> None:
        super().__init__(changes)
        self._directory = directory
        self._issuer = issuer

    async def execute_actions(
        self, acting: Acting, user_id: str, asked: LinkRequest, actions: Sequence[str]
    ) -> None:
        """Ask the user to perform required actions."""
        await self._send_actions(acting, user_id, asked, actions, _EXECUTE_ACTIONS)

    async def reset_password(self, acting: Acting, user_id: str, asked: LinkRequest) -> None:
        """Ask the user to set a new password."""
        await self._send_actions(acting, user_id, asked, [UPDATE_PASSWORD], _RESET_PASSWORD)

    async def verify_email(self, acting: Acting, user_id: str, asked: LinkRequest) -> None:
        """Ask the user to verify the address."""
        kinds = ActionTokenKind.VERIFY_EMAIL, MailKind.EMAIL_VERIFICATION
        async with self._changes.begin(acting) as change:
            try:
                await self._queue_mail(change, user_id, asked, kinds)
            except MailNotSent as failure:
                raise MailFailed(_NOT_VERIFIED, str(failure)) from failure
            change.record(
                OperationType.ACTION, ResourceType.USER, f"users/{user_id}/{_VERIFY_EMAIL}"
            )

    async def _send_actions(
        self, acting: Acting, user_id: str, asked: LinkRequest, actions: Sequence[str], path: str
    ) -> None:
        kinds = ActionTokenKind.EXECUTE_ACTIONS, MailKind.EXECUTE_ACTIONS
        wanted = tuple(dict.fromkeys(actions))
        async with self._changes.begin(acting) as change:
            try:
                await self._queue_mail(change, user_id, asked, kinds, wanted)
            except MailNotSent as failure:
                raise MailFailed(f"{_NOT_EXECUTED}{failure}", str(failure)) from failure
            change.record(OperationType.ACTION, ResourceType.USER, f"users/{user_id}/{path}")

    async def _queue_mail(
        self,
        change: Change,
        user_id: str,
        asked: LinkRequest,
        kinds: tuple[ActionTokenKind, MailKind],
        actions: tuple[str, ...] = (),
    ) -> None:
        """Queue the mail; raises MailNotSent."""
        user = await get_user(change.stores, change.realm.id, user_id)
        address = _require_reachable(user)
        issuer = self._issuer(change.realm.name)
        client = await _link_client(change, asked, issuer)
        lifespan = _link_lifespan(change, asked)
        found = existing(await self._directory.realm(change.realm.name), "Realm not found.")
        entry = replace(found, realm=change.realm)
        kind, mail_kind = kinds
        verifies = kind is ActionTokenKind.VERIFY_EMAIL
        _require_offered(entry, (VERIFY_EMAIL,) if verifies else actions)
        mail_server(change.realm.smtp)
        token = new_action_token(
            kind,
            user,
            client.client_id,
            change.now,
            lifespan,
            email=address,
            actions=actions,
            redirect_uri=asked.redirect_uri,
            credentials=await current_credentials_mark(change.stores, user) if actions else None,
        )
        mail = LinkMail(entry, issuer, user, address, mail_kind, token)
        try:
            failure = await mail.queue(change.stores, change.now)
        except ValueError as error:
            raise InvalidRequest("Invalid redirect uri.") from error
        if failure is not None:
            raise MailNotSent("the limit of mails to this user or of this realm is reached")


def _require_reachable(user: User) -> str:
    """Return the address of the user; raises InvalidRequest."""
    if not user.email:
        raise InvalidRequest("User email missing")
    if not user.enabled:
        raise InvalidRequest("User is disabled")
    return user.email


async def _link_client(change: Change, asked: LinkRequest, issuer: str) -> Client:
    """Return the client of the link; raises InvalidRequest."""
    if asked.redirect_uri is not None and asked.client_id is None:
        raise InvalidRequest("Client id missing")
    client_id = asked.client_id or _OWN_CLIENT
    client = await change.stores.clients.find_by_client_id(change.realm.id, client_id)
    if client is None:
        raise InvalidRequest("Client doesn't exist")
    if not client.enabled:
        raise InvalidRequest("Client is not enabled")
    base_url = issuer.rpartition("/realms/")[0]
    if asked.redirect_uri is not None and not client.redirects.match(asked.redirect_uri, base_url):
        raise InvalidRequest("Invalid redirect uri.")
    return client


def _link_lifespan(change: Change, asked: LinkRequest) -> timedelta:
    if asked.lifespan is None:
        return change.realm.token_lifespans.action_token_by_admin
    if asked.lifespan <= 0:
        raise InvalidRequest("Invalid lifespan")
    return timedelta(seconds=asked.lifespan)


def _require_offered(entry: RealmEntry, actions: tuple[str, ...]) -> None:
    """Raise InvalidRequest for an action that the realm does not have, or has disabled."""
    if not all(map(entry.sign_in.offers, actions)):
        raise InvalidRequest("Provided invalid required actions")
