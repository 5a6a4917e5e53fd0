"""The check of a key that was presented: signed for this page, newer than the last signature.

Keycloak: WebAuthnAuthenticator, WebAuthnCredentialProvider (26.7); Spec: WebAuthn Level 3 §7.2
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.authentication.accounts import Account, Accounts, unknown_account
from gateway.authentication.engine.proven_password import note_key
from gateway.authentication.engine.sign_in import Form, Result, SecretCheck, SignIn
from gateway.authentication.errors import InvalidUserCredentials
from gateway.authentication.web_authn.decoys import KeyDecoys
from gateway.authentication.web_authn.relying_party import (
    RelyingParty,
    new_challenge,
    take_challenge,
)
from gateway.authentication.web_authn.stored_keys import StoredKey, readable_keys
from gateway.domain import base64url
from gateway.domain.authentication import AssertionRequest, Challenge, KeyChoice, MessageKey
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.storage import Database
from gateway.domain.ports.web_authn import WebAuthn
from gateway.domain.realm import PasskeyPolicy, Realm, WebAuthnPolicy, option
from gateway.domain.web_authn import (
    PASSKEY,
    SECURITY_KEY,
    AssertionResponse,
    CeremonyRules,
    WebAuthnRejected,
    decode,
)

_FIELDS: Final = ("credentialId", "clientDataJSON", "authenticatorData", "signature")
_USER_HANDLE: Final = "userHandle"
_ERROR: Final = "error"
_MEDIATION: Final = "conditional"
_LONGEST_HANDLE: Final = 64
"""Bytes. Spec: WebAuthn Level 3 §5.4.3"""
Again = Callable[[MessageKey], Challenge]


@dataclass(frozen=True, slots=True)
class KeyCredentials:
    """A type of credentials, and the policy that a realm has for it."""

    type: str

    def policy(self, realm: Realm) -> WebAuthnPolicy | PasskeyPolicy:
        return realm.web_authn if self.type == SECURITY_KEY else realm.web_authn_passwordless

    def of(self, account: Account | None) -> tuple[StoredKey, ...]:
        """Return the keys of an account with its credentials."""
        return () if account is None else readable_keys(account.credentials_of(self.type))


SECURITY_KEYS: Final = KeyCredentials(SECURITY_KEY)
PASSKEYS: Final = KeyCredentials(PASSKEY)


@dataclass(frozen=True, slots=True)
class _Presented:
    """A key that was presented for a page."""

    response: AssertionResponse = field(repr=False)
    rules: CeremonyRules


class KeyCheck:
    """Asks for keys, and verifies what is presented."""

    def __init__(
        self,
        web_authn: WebAuthn,
        accounts: Accounts,
        database: Database,
        party: RelyingParty,
        decoys: KeyDecoys,
    ) -> None:
        self._web_authn = web_authn
        self._accounts = accounts
        self._database = database
        self._party = party
        self._decoys = decoys

    def request(self, sign_in: SignIn, keys: KeyCredentials) -> AssertionRequest:
        """Return what the page asks for: a key of the user, or any where none is known.

        A user who is only named gets decoys in place of missing keys, and no labels.
        """
        policy = keys.policy(sign_in.realm)
        return AssertionRequest(
            challenge=new_challenge(sign_in),
            rp_id=self._party.id(policy),
            timeout=int(policy.create_timeout.total_seconds()),
            user_verification=option(policy.user_verification),
            keys=self._choices(sign_in, keys),
            lists_keys=keys is SECURITY_KEYS and not sign_in.is_only_named,
            mediation=sign_in.realm.web_authn_passwordless.mediation or _MEDIATION,
        )

    def _choices(self, sign_in: SignIn, keys: KeyCredentials) -> tuple[KeyChoice, ...]:
        held = tuple(
            KeyChoice(base64url.encode(key.id), key.credential.label or "", key.transports)
            for key in keys.of(sign_in.account)
        )
        if not sign_in.is_only_named:
            return held
        name = sign_in.attempted_username or ""
        # Derived for users with keys too: the time is the same.
        decoys = self._decoys.keys(sign_in.realm.id, keys.type, name)
        return tuple(replace(key, label="") for key in held) or decoys

    async def submit(
        self, sign_in: SignIn, keys: KeyCredentials, form: Form, again: Again
    ) -> Result:
        """Return the check of what was submitted; `again` returns the page with a message.

        Raises StoreUnavailable.
        """
        challenge = take_challenge(sign_in)
        sign_in.event_details[Detail.CREDENTIAL_TYPE] = keys.type
        if form.get(_ERROR) or challenge is None or not all(form.get(name) for name in _FIELDS):
            return _refused(sign_in, again, MessageKey.KEY_NOT_USED, EventError.NOT_ALLOWED)
        was_known = sign_in.account is not None
        if not await self._identify(sign_in, form.get(_USER_HANDLE, "")):
            error = EventError.DIFFERENT_USER_AUTHENTICATED
            return _refused(sign_in, again, MessageKey.KEY_OF_DIFFERENT_USER, error)
        presented = self._presented(sign_in, keys, challenge, form)
        held = None if presented is None else _held(keys, sign_in.account, presented)

        async def prove(admitted: bool) -> bool:  # noqa: FBT001 - a callback
            if presented is None or held is None:
                return False
            return await self._is_right(sign_in, held, presented, admitted=admitted)

        def succeeded() -> None:
            if held is not None:
                note_key(sign_in, held.credential)
            if not was_known:
                sign_in.attempted_username = sign_in.user.username

        failed = None if was_known else sign_in.forget_user
        return SecretCheck(keys.type, prove, again, MessageKey.KEY_REJECTED, failed, succeeded)

    async def _identify(self, sign_in: SignIn, handle: str) -> bool:
        """Take the user whom the authenticator names; False where it is not the one who is known.

        Without a name the user must be known.
        """
        user_id = _user_id(handle)
        account = sign_in.account
        if account is not None:
            return not handle or account.guarded_as == user_id
        found = await self._accounts.with_id(sign_in.realm.id, user_id) if user_id else None
        if found is None:
            sign_in.identify(unknown_account(user_id or handle))
        else:
            sign_in.identify(await self._accounts.with_credentials(found))
        return True

    def _presented(
        self, sign_in: SignIn, keys: KeyCredentials, challenge: bytes, form: Form
    ) -> _Presented | None:
        """Return what was submitted; None where it is not Base64url."""
        policy = keys.policy(sign_in.realm)
        try:
            response = AssertionResponse(*(decode(form[name]) for name in _FIELDS))
        except ValueError:
            return None
        return _Presented(
            response,
            CeremonyRules(
                rp_id=self._party.id(policy),
                origins=self._party.origins(policy),
                challenge=challenge,
                requires_verification=policy.requires_verification,
            ),
        )

    async def _is_right(
        self, sign_in: SignIn, key: StoredKey, presented: _Presented, *, admitted: bool
    ) -> bool:
        """Tell whether the key has signed; its counter is stored where that is `admitted`."""
        details = sign_in.event_details
        try:
            counter = self._web_authn.verify(presented.response, presented.rules, key.public_key)
        except WebAuthnRejected as rejected:
            details[Detail.WEB_AUTHN_ERROR_DETAIL] = str(rejected)
            return False
        if not key.accepts(counter):
            details[Detail.WEB_AUTHN_ERROR_DETAIL] = "The signature counter has not grown."
            return False
        if not admitted:
            return False
        details[Detail.PUBLIC_KEY_CREDENTIAL_ID] = base64url.encode(key.id)
        checked = str(presented.rules.requires_verification).lower()
        details[Detail.USER_VERIFICATION_CHECKED] = checked
        return counter == key.counter or await self._store(sign_in, key, counter)

    async def _store(self, sign_in: SignIn, key: StoredKey, counter: int) -> bool:
        """Store the counter; False where the credential has changed meanwhile."""
        realm_id, account = sign_in.realm.id, sign_in.account
        async with self._database.write() as stores:
            before, after = key.credential, key.used(counter)
            stored = await stores.users.exchange_credential(realm_id, before, after)
        if stored and account is not None:
            # The stored credentials are others now: they are loaded again where they are needed.
            sign_in.account = replace(account, credentials=None)
        return stored


def _held(keys: KeyCredentials, account: Account | None, presented: _Presented) -> StoredKey | None:
    wanted = presented.response.credential_id
    return next((key for key in keys.of(account) if key.id == wanted), None)


def _user_id(handle: str) -> str:
    """Return the id of the user that a handle encodes, empty for an invalid handle."""
    try:
        raw = decode(handle)
        return raw.decode("utf-8") if len(raw) <= _LONGEST_HANDLE else ""
    except ValueError:
        return ""


def _refused(sign_in: SignIn, again: Again, message: MessageKey, error: str) -> Challenge:
    """Return the page again where nothing was presented that could be verified."""
    user = sign_in.found_user
    sign_in.failure = InvalidUserCredentials(error, None if user is None else user.id)
    return again(message)
