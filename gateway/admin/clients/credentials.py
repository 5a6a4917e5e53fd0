"""A client's secret, and the key with which it signs JWTs: read, renewed, generated, uploaded.

The old secret is rejected at once, unless a client policy of the realm accepts it for a while as
the rotated secret. A certificate, a public key or a key set is stored; a generated private key is
answered once.
Keycloak: clients/{id}/client-secret; clients/{id}/certificates/{attr}, which stores the private key
as plain text
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from gateway.admin.access import Acting, require_changeable_clients, require_may_control
from gateway.admin.changes import Administration, Changes
from gateway.admin.clients.listing import changing_client, get_client, replace_client
from gateway.admin.clients.policies import PolicyCaller, updater_of
from gateway.admin.clients.preparation import with_renewed_secret
from gateway.admin.keys import run_key_work
from gateway.domain.clients import Client
from gateway.domain.errors import UnusableSetting
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.keys import KeyStatus, RealmKey, SignatureAlgorithm
from gateway.domain.ports.client_keys import (
    ClientKey,
    ClientKeys,
    GeneratedKey,
    KeyFile,
    NamedCertificate,
)
from gateway.domain.realm import Realm
from gateway.domain.refusals import (
    InvalidRequest,
    NotAcceptable,
    NotFound,
    NotSupported,
    WireFamily,
)
from gateway.domain.secrets import Secret
from gateway.representations.clients import (
    JWT_CREDENTIAL,
    STANDARD_BITS,
    STANDARD_YEARS,
    KeyStoreRequest,
    key_of,
    parse_key_store_request,
    render_generated,
    render_key,
    with_key,
    without_rotated_secret,
)


class ClientSecrets(Administration):
    """The use cases. All raise NotFound, Forbidden and StoreUnavailable."""

    async def get_secret(self, acting: Acting, client_id: str) -> dict[str, Any]:
        return _credential((await self._get_client(acting, client_id)).secret)

    async def renew_secret(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Generate a new secret and return it; a public client cannot use it."""
        async with changing_client(self._changes, acting, client_id) as (change, client):
            updater = await updater_of(change.stores, change.realm, PolicyCaller(acting))
            renewed = with_renewed_secret(change.realm, client, self._clock, updater)
            await replace_client(change, client, renewed)
            credential = _credential(renewed.secret)
            path = f"clients/{client.id}/client-secret"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path, credential)
        return credential

    async def get_rotated_secret(self, acting: Acting, client_id: str) -> dict[str, Any]:
        rotated = (await self._get_client(acting, client_id)).rotated_secret
        if rotated is None:
            raise NotFound("Client does not have a rotated secret")
        return _credential(rotated)

    async def remove_rotated_secret(self, acting: Acting, client_id: str) -> None:
        async with changing_client(self._changes, acting, client_id) as (change, client):
            path = f"clients/{client.id}/client-secret/rotated"
            removed = None
            if client.rotated_secret is not None:
                await replace_client(change, client, without_rotated_secret(client))
                removed = _credential(client.rotated_secret)
            change.record(OperationType.DELETE, ResourceType.CLIENT, path, removed)

    async def _get_client(self, acting: Acting, client_id: str) -> Client:
        async with self._database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
            await require_may_control(acting, stores, *acting.controls)
        return client


def _credential(secret: Secret | None) -> dict[str, Any]:
    return {"type": "secret"} | ({} if secret is None else {"value": secret.reveal()})


_PKCS12: Final = "PKCS12"
_JAVA_STORES: Final = frozenset({"JKS", "BCFKS"})
_YEAR: Final = timedelta(days=365)
_BEFORE: Final = timedelta(seconds=100)
"""A certificate begins a little in the past, for clocks that are behind."""
_LONGEST_TEXT: Final = 1000


class ClientCertificateAdministration(Administration):
    """The use cases. All raise NotFound, Forbidden, NotSupported and StoreUnavailable."""

    def __init__(self, changes: Changes, keys: ClientKeys) -> None:
        super().__init__(changes)
        self._keys = keys

    async def get_key(self, realm: Realm, client_id: str, purpose: str) -> dict[str, str]:
        async with self._database.read() as stores:
            client = await get_client(stores, realm.id, client_id)
        key = key_of(client, purpose)
        return render_key(await self._complete_key(realm, key))

    async def generate_key(self, acting: Acting, client_id: str, purpose: str) -> dict[str, str]:
        """Generate a key and return both parts, which are not stored together."""
        client = await self._require_client(acting, client_id, purpose)
        made = await self._generate_key(client, STANDARD_BITS, STANDARD_YEARS)
        key = ClientKey(certificate=made.certificate)
        await self._store_key(acting, client_id, key, f"{purpose}/generate")
        return render_generated(made)

    async def generate_archive(
        self, acting: Acting, client_id: str, purpose: str, document: Mapping[str, Any]
    ) -> bytes:
        """Generate a key and return it in a key store; raises NotAcceptable, InvalidRequest."""
        client = await self._require_client(acting, client_id, purpose)
        request = parse_key_store_request(document, client.client_id, acting.realm.name)
        password = _password(request)
        made = await self._generate_key(client, request.bits, request.years)
        certificates = await self._with_realm(acting.realm, request, made.certificate)
        archive = await run_key_work(
            acting.realm.id, self._keys.archive, password, certificates, made.private_key
        )
        key = ClientKey(certificate=made.certificate)
        await self._store_key(acting, client_id, key, f"{purpose}/generate-and-download")
        return archive

    async def get_archive(
        self, acting: Acting, client_id: str, purpose: str, document: Mapping[str, Any]
    ) -> bytes:
        """Return the certificate in a key store; raises NotFound, NotAcceptable, InvalidRequest."""
        client = await self._require_client(acting, client_id, purpose)
        request = parse_key_store_request(document, client.client_id, acting.realm.name)
        password = _password(request)
        certificate = key_of(client, purpose).certificate
        if certificate is None:
            raise NotFound("keypair not generated for client")
        certificates = await self._with_realm(acting.realm, request, certificate)
        return await run_key_work(acting.realm.id, self._keys.archive, password, certificates)

    async def upload_key(
        self, acting: Acting, client_id: str, purpose: str, form: Mapping[str, bytes], *, path: str
    ) -> dict[str, str]:
        """Store the public part of a key from a file; raises InvalidRequest."""
        await self._require_client(acting, client_id, purpose)
        kind = _key_file(form)
        alias, password = _text(form, "keyAlias"), Secret(_text(form, "storePassword"))
        try:
            key = await run_key_work(
                acting.realm.id, self._keys.read_key_file, kind, form["file"], alias, password
            )
        except UnusableSetting as error:
            raise InvalidRequest(str(error), WireFamily.PROSE) from error
        return await self._store_key(acting, client_id, key, f"{purpose}/{path}")

    async def _require_client(self, acting: Acting, client_id: str, purpose: str) -> Client:
        async with self._database.read() as stores:
            client = await get_client(stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
        if purpose != JWT_CREDENTIAL:
            raise NotSupported(f"Keys of clients are for {JWT_CREDENTIAL} alone: there is no SAML")
        return client

    async def _store_key(
        self, acting: Acting, client_id: str, key: ClientKey, path: str
    ) -> dict[str, str]:
        async with changing_client(self._changes, acting, client_id) as (change, client):
            await replace_client(change, client, with_key(client, key))
            answer, at = render_key(key), f"clients/{client.id}/certificates/{path}"
            change.record(OperationType.ACTION, ResourceType.CLIENT, at, answer)
        return answer

    async def _generate_key(self, client: Client, bits: int, years: int) -> GeneratedKey:
        begins = self._clock.now().replace(microsecond=0) - _BEFORE
        return await run_key_work(
            client.realm_id,
            self._keys.generate,
            client.client_id,
            bits,
            begins,
            begins + years * _YEAR,
        )

    async def _with_realm(
        self, realm: Realm, request: KeyStoreRequest, certificate: str
    ) -> list[NamedCertificate]:
        found = [NamedCertificate(request.alias, certificate)]
        if request.with_realm:
            async with self._database.read() as stores:
                keys = await stores.keys.list_keys(realm.id)
            certified = next(filter(None, map(_certificate, keys)), None)
            found += [NamedCertificate(request.realm_alias, certified)] if certified else []
        return found

    async def _complete_key(self, realm: Realm, key: ClientKey) -> ClientKey:
        if key.key_set is None:
            return key
        try:
            return await run_key_work(
                realm.id,
                self._keys.read_key_file,
                KeyFile.KEY_SET,
                key.key_set.encode(),
                "",
                Secret(""),
            )
        except UnusableSetting:
            return key


def _password(request: KeyStoreRequest) -> Secret:
    if request.format in _JAVA_STORES:
        raise NotAcceptable(
            f"{request.format} key stores are not made here: take PKCS12, which Java reads as well"
        )
    if request.key_password is None or request.store_password is None:
        which = "key" if request.key_password is None else "store"
        text = f"Need to specify a {which} password for jks generation and download"
        raise InvalidRequest(text, WireFamily.OAUTH, code="password-missing")
    if request.format != _PKCS12:
        raise NotAcceptable("Not supported keystore format. Supported keystore formats: [PKCS12]")
    return request.store_password


def _certificate(key: RealmKey) -> str | None:
    signs = key.status is KeyStatus.ACTIVE and isinstance(key.algorithm, SignatureAlgorithm)
    if key.certificate is None or not signs:
        return None
    lines = key.certificate.strip().splitlines()
    return "".join(line for line in lines if not line.startswith("-----"))


def _key_file(form: Mapping[str, bytes]) -> KeyFile:
    kind = _text(form, "keystoreFormat")
    if not kind:
        raise InvalidRequest("keystoreFormat cannot be null", WireFamily.PROSE)
    if not form.get("file"):
        raise InvalidRequest("file cannot be empty", WireFamily.PROSE)
    if kind in _JAVA_STORES:
        raise InvalidRequest(
            f"{kind} key stores are not read here: send PKCS12, or the certificate",
            WireFamily.PROSE,
        )
    if kind not in set(KeyFile):
        raise InvalidRequest("error loading keystore", WireFamily.PROSE)
    return KeyFile(kind)


def _text(form: Mapping[str, bytes], name: str) -> str:
    try:
        text = form.get(name, b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{name} is not UTF-8", WireFamily.PROSE) from error
    if len(text) > _LONGEST_TEXT:
        raise InvalidRequest(f"{name} has more than {_LONGEST_TEXT} characters", WireFamily.PROSE)
    return text
