"""Security keys and passkeys: how they are stored, asked for, and checked.

Keycloak: WebAuthnAuthenticator, WebAuthnCredentialProvider (26.7); Spec: WebAuthn Level 3 §7.2,
§14.6.2
"""

import base64
import hmac
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Self
from urllib.parse import urlsplit
from uuid import uuid4

from gateway.authentication.accounts import Account, Accounts, unknown_account
from gateway.authentication.engine.proofs import note_key
from gateway.authentication.engine.sign_in import Form, Result, SecretCheck, SignInAttempt
from gateway.authentication.errors import InvalidUserCredentials
from gateway.domain import base64url
from gateway.domain.authentication import Challenge, MessageKey
from gateway.domain.errors import SecretUnreadable
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.credentials import WebAuthn
from gateway.domain.ports.storage import Database
from gateway.domain.realm import PasskeyPolicy, Realm, WebAuthnPolicy, option
from gateway.domain.unique_names import name_key
from gateway.domain.users import Credential, next_priority, sought_name
from gateway.domain.web_authn import (
    PASSKEY,
    SECURITY_KEY,
    AssertionRequest,
    AssertionResponse,
    CeremonyRules,
    KeyChoice,
    VerifiedKey,
    WebAuthnRejected,
    decode,
)

_NO_SECRETS: Final = "{}"


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key of a user.

    `aaguid`, `credentialId` (Base64), `counter`, `credentialPublicKey` (COSE in Base64url),
    `attestationStatementFormat` and `transports`; the secret data is empty. Keycloak:
    WebAuthnCredentialModel, WebAuthnCredentialData (26.7)
    """

    credential: Credential
    id: bytes
    public_key: bytes
    counter: int
    transports: tuple[str, ...]
    data: Mapping[str, Any] = field(repr=False)
    """All that the credential says."""

    @classmethod
    def of(cls, credential: Credential) -> Self:
        """Return the key of a credential; raises SecretUnreadable."""
        try:
            data = json.loads(credential.credential_data)
            return cls(
                credential=credential,
                id=decode(data["credentialId"]),
                public_key=decode(data["credentialPublicKey"]),
                counter=int(data.get("counter") or 0),
                transports=tuple(map(str, data.get("transports") or ())),
                data=dict(data),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SecretUnreadable("a stored key is not in Keycloak's format") from error

    def accepts(self, counter: int) -> bool:
        """Tell whether a signature with that counter is newer than the last one.

        Authenticators that do not count send zero. Spec: WebAuthn Level 3 §6.1.1
        """
        return counter > self.counter or (counter == 0 and self.counter == 0)

    def used(self, counter: int) -> Credential:
        """Return the credential after a signature with that counter."""
        return replace(self.credential, credential_data=_json({**self.data, "counter": counter}))


def readable_keys(credentials: Sequence[Credential]) -> tuple[StoredKey, ...]:
    """Return the keys of credentials, without unreadable ones."""
    found = []
    for credential in credentials:
        try:
            found.append(StoredKey.of(credential))
        except SecretUnreadable:
            continue  # the user signs in with another one
    return tuple(found)


def new_key_credential(
    kind: str,
    user_id: str,
    key: VerifiedKey,
    *,
    label: str | None,
    transports: Sequence[str],
    held: Sequence[Credential],
    now: datetime,
) -> Credential:
    """Return the credential of a new key, behind the credentials that the user has."""
    data = {
        "aaguid": key.aaguid,
        "credentialId": base64.b64encode(key.credential_id).decode("ascii"),
        "counter": key.sign_count,
        "credentialPublicKey": base64url.encode(key.public_key),
        "attestationStatementFormat": key.attestation_format,
        "transports": list(transports),
    }
    return Credential(
        id=str(uuid4()),
        user_id=user_id,
        type=kind,
        created_at=now,
        credential_data=_json(data),
        secret_data=_NO_SECRETS,
        priority=next_priority(held),
        label=label,
    )


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))


_CHALLENGE_NOTE: Final = "webauthn-challenge"
"""The note with the challenge of the page that was shown."""
_CHALLENGE_BYTES: Final = 32
_USUAL_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The gateway as browsers know it, by its public URL.

    Keycloak: WebAuthnRegister, WebAuthnAuthenticator (26.7); Spec: WebAuthn Level 3 §7.1
    """

    public_url: str

    def id(self, policy: WebAuthnPolicy | PasskeyPolicy) -> str:
        """Return the domain of new keys."""
        return policy.rp_id or urlsplit(self.public_url).hostname or ""

    def origins(self, policy: WebAuthnPolicy | PasskeyPolicy) -> frozenset[str]:
        """Return where the pages may stand."""
        return frozenset((self._origin(), *policy.extra_origins))

    def _origin(self) -> str:
        """Return the origin as browsers write it: lower case, without the usual port."""
        parts = urlsplit(self.public_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        is_usual = parts.port in {None, _USUAL_PORTS.get(parts.scheme)}
        return f"{parts.scheme}://{host}" + ("" if is_usual else f":{parts.port}")


def new_challenge(sign_in: SignInAttempt) -> str:
    """Return a challenge of 256 bits, which the sign-in remembers until a form is sent."""
    challenge = base64url.encode(secrets.token_bytes(_CHALLENGE_BYTES))
    sign_in.note(_CHALLENGE_NOTE, challenge)
    return challenge


def take_challenge(sign_in: SignInAttempt) -> bytes | None:
    """Return the challenge of the page that was shown, once."""
    challenge = sign_in.notes.get(_CHALLENGE_NOTE)
    sign_in.note(_CHALLENGE_NOTE, None)
    return None if challenge is None else decode(challenge)


DECOYS: Final = "webauthn-decoys"
"""The purpose of the derived secret."""
_DECOY_DIGEST: Final = "sha256"
_DECOY_MODELS: Final = (
    *((16, ("hybrid", "internal")),) * 5,
    *((20, ("hybrid", "internal")),) * 4,
    *((32, ("internal",)),) * 3,
    *((32, ("hybrid", "internal")),) * 2,
    (48, ("nfc", "usb")),
    (64, ("nfc", "usb")),
)
"""Bytes of the ids and transports of common authenticators: password managers, phones, laptops,
security keys. One of sixteen is taken."""
_SECOND_DECOY: Final = 64
"""Of 256 names this many have a second key."""


class KeyDecoys:
    """Derives decoys from a secret of 32 bytes.

    A page that asks a named user for a key lists the ids of the keys. Without decoys it would
    reveal which names have an account with keys. Decoys are derived from a secret, the realm and
    the name, so a name has the same ones on every page and gateway. Spec: WebAuthn Level 3 §14.6.2
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def keys(self, realm_id: str, kind: str, name: str) -> tuple[KeyChoice, ...]:
        """Return the decoys of a name that was entered, for keys of a type."""
        text = f"{realm_id}\0{kind}\0{name_key(sought_name(name))}"
        seed = hmac.digest(self._secret, text.encode("utf-8", "surrogatepass"), _DECOY_DIGEST)
        count = 2 if seed[0] < _SECOND_DECOY else 1
        return tuple(_decoy(seed, number) for number in range(count))


def _decoy(seed: bytes, number: int) -> KeyChoice:
    length, transports = _DECOY_MODELS[seed[1 + number] % len(_DECOY_MODELS)]
    key_id = b"".join(_decoy_bytes(seed, number))[:length]
    return KeyChoice(base64url.encode(key_id), transports=transports)


def _decoy_bytes(seed: bytes, number: int) -> Iterator[bytes]:
    """Yield 64 bytes that look like the id of an authenticator's key."""
    for block in range(2):
        yield hmac.digest(seed, bytes((number, block)), _DECOY_DIGEST)


_ASSERTION_FIELDS: Final = ("credentialId", "clientDataJSON", "authenticatorData", "signature")
_USER_HANDLE_FIELD: Final = "userHandle"
_ERROR_FIELD: Final = "error"
_MEDIATION_FIELD: Final = "conditional"
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


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """Asks for keys, and verifies presented keys.

    Keycloak: WebAuthnAuthenticator, WebAuthnCredentialProvider (26.7); Spec: WebAuthn Level 3 §7.2
    """

    _web_authn: WebAuthn
    _accounts: Accounts
    _database: Database
    _party: RelyingParty
    _decoys: KeyDecoys

    def request(self, sign_in: SignInAttempt, keys: KeyCredentials) -> AssertionRequest:
        """Return the request of the page: for a key of the user, or for any key without a user.

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
            mediation=sign_in.realm.web_authn_passwordless.mediation or _MEDIATION_FIELD,
        )

    def _choices(self, sign_in: SignInAttempt, keys: KeyCredentials) -> tuple[KeyChoice, ...]:
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
        self, sign_in: SignInAttempt, keys: KeyCredentials, form: Form, again: Again
    ) -> Result:
        """Return the check of the submitted key; `again` returns the page with a message.

        Raises StoreUnavailable.
        """
        challenge = take_challenge(sign_in)
        sign_in.event_details[Detail.CREDENTIAL_TYPE] = keys.type
        if (
            form.get(_ERROR_FIELD)
            or challenge is None
            or not all(form.get(name) for name in _ASSERTION_FIELDS)
        ):
            return _refused_key(sign_in, again, MessageKey.KEY_NOT_USED, EventError.NOT_ALLOWED)
        was_known = sign_in.account is not None
        if not await self._identify(sign_in, form.get(_USER_HANDLE_FIELD, "")):
            error = EventError.DIFFERENT_USER_AUTHENTICATED
            return _refused_key(sign_in, again, MessageKey.KEY_OF_DIFFERENT_USER, error)
        presented = self._presented(sign_in, keys, challenge, form)
        held = None if presented is None else _held_keys(keys, sign_in.account, presented)

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

    async def _identify(self, sign_in: SignInAttempt, handle: str) -> bool:
        """Take the user whom the authenticator names; False where it is not the one who is known.

        Without a name the user must be known.
        """
        user_id = _user_id(handle)
        account = sign_in.account
        if account is not None:
            return not handle or account.guarded_as == user_id
        found = await self._accounts.find_account(sign_in.realm.id, user_id) if user_id else None
        if found is None:
            sign_in.identify(unknown_account(user_id or handle))
        else:
            sign_in.identify(await self._accounts.load_credentials(found))
        return True

    def _presented(
        self, sign_in: SignInAttempt, keys: KeyCredentials, challenge: bytes, form: Form
    ) -> _Presented | None:
        """Return the submitted key; None where it is not Base64url."""
        policy = keys.policy(sign_in.realm)
        try:
            response = AssertionResponse(*(decode(form[name]) for name in _ASSERTION_FIELDS))
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
        self, sign_in: SignInAttempt, key: StoredKey, presented: _Presented, *, admitted: bool
    ) -> bool:
        """Tell whether the key has signed; its counter is stored where that is `admitted`."""
        details = sign_in.event_details
        try:
            counter = self._web_authn.verify_assertion(
                presented.response, presented.rules, key.public_key
            )
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

    async def _store(self, sign_in: SignInAttempt, key: StoredKey, counter: int) -> bool:
        """Store the counter; False where the credential has changed meanwhile."""
        realm_id, account = sign_in.realm.id, sign_in.account
        async with self._database.write() as stores:
            before, after = key.credential, key.used(counter)
            stored = await stores.users.exchange_credential(realm_id, before, after)
        if stored and account is not None:
            # The stored credentials are others now: they are loaded again where they are needed.
            sign_in.account = replace(account, credentials=None)
        return stored


def _held_keys(
    keys: KeyCredentials, account: Account | None, presented: _Presented
) -> StoredKey | None:
    wanted = presented.response.credential_id
    return next((key for key in keys.of(account) if key.id == wanted), None)


def _user_id(handle: str) -> str:
    """Return the id of the user that a handle encodes, empty for an invalid handle."""
    try:
        raw = decode(handle)
        return raw.decode("utf-8") if len(raw) <= _LONGEST_HANDLE else ""
    except ValueError:
        return ""


def _refused_key(
    sign_in: SignInAttempt, again: Again, message: MessageKey, error: str
) -> Challenge:
    """Return the page again where nothing was presented that could be verified."""
    user = sign_in.found_user
    sign_in.failure = InvalidUserCredentials(error, None if user is None else user.id)
    return again(message)


_SUBMITTED: Final = ("authenticatorData", "error")


class Passkeys:
    """Offers passkeys on the page of another form.

    Keycloak: WebAuthnConditionalUIAuthenticator, UsernamePasswordForm (26.7)
    """

    def __init__(self, checks: KeyCheck) -> None:
        self._checks = checks

    def offer(self, sign_in: SignInAttempt) -> AssertionRequest | None:
        """Return the passkey request of a page with another form.

        None where passkeys are off, or the user who has proven something has none. For a user who
        is only named the page reveals nothing: it has decoys.
        """
        if not _are_enabled(sign_in):
            return None
        is_proven = sign_in.account is not None and not sign_in.is_only_named
        if is_proven and not PASSKEYS.of(sign_in.account):
            return None
        return self._checks.request(sign_in, PASSKEYS)

    def are_submitted(self, sign_in: SignInAttempt, form: Form) -> bool:
        """Tell whether the form is that of a passkey."""
        return any(name in form for name in _SUBMITTED) and _are_enabled(sign_in)

    async def submit(self, sign_in: SignInAttempt, form: Form, again: Again) -> Result:
        """Return the check of the passkey; raises StoreUnavailable."""
        return await self._checks.submit(sign_in, PASSKEYS, form, again)

    def have_signed_in(self, sign_in: SignInAttempt) -> bool:
        """Tell whether the user has signed in with a passkey, in place of a password."""
        return _are_enabled(sign_in) and PASSKEY in sign_in.used


def _are_enabled(sign_in: SignInAttempt) -> bool:
    return bool(sign_in.realm.web_authn_passwordless.passkeys_enabled)
