"""Users with real passwords, and the sign-in over real stores, for tests."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from secrets import token_bytes
from typing import Self

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.brute_force_protection import BruteForceGuard
from gateway.authentication.engine import SignedIn, SignInContext
from gateway.authentication.engine.results import Refused
from gateway.authentication.one_time_passwords import OneTimePasswordCheck
from gateway.authentication.passwords import NewPasswords, PasswordChanges, PasswordCheck
from gateway.authentication.removal import AccountRemoval
from gateway.authentication.services import AuthenticationServices
from gateway.authentication.sign_in_engine import SignInEngine
from gateway.authentication.web_authn import KeyCheck, KeyDecoys, RelyingParty
from gateway.crypto.one_time_passwords import PyOtp
from gateway.crypto.passwords import PooledPasswordHasher, hash_password
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.crypto.web_authn import Fido2WebAuthn
from gateway.domain.authentication import session_of_one_request
from gateway.domain.flows import (
    CODE,
    STANDARD,
    USERNAME,
    FlowStep,
    Requirement,
    SignInFlow,
    SignInRules,
)
from gateway.domain.flows import (
    PASSWORD as PASSWORD_STEP,
)
from gateway.domain.limits.password_hashing import HashCost
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.storage import Database
from gateway.domain.realm import BruteForce, LoginSettings, PasswordPolicy, PasswordRule, Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential, User
from gateway.storage.cache import RealmCache
from gateway.storage.redis.authentication_sessions import RedisAuthenticationSessions
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.login_failures import RedisLoginFailures
from gateway.storage.redis.rate_limiter import RedisRateLimiter
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.redis.single_use_codes import RedisOneTimeMarks
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import client, credential, realm, user
from tests.support.timed_scripts import scripts_at

ALGORITHM, ITERATIONS = "pbkdf2-sha256", 1_000
PASSWORD = Secret("correct horse battery staple")
WRONG = Secret("incorrect horse battery staple")
ADDRESS = "192.0.2.1"
PUBLIC_URL = "https://gateway.test"


def _grant(*names: str) -> SignInFlow:
    steps = (FlowStep(Requirement.REQUIRED, name, id=name) for name in names)
    return SignInFlow("strict", steps=tuple(steps), id="strict")


ALWAYS_CODE = _grant(USERNAME, PASSWORD_STEP, CODE)
NEVER_CODE = _grant(USERNAME, PASSWORD_STEP)
RULES = BruteForce(protected=True, failure_factor=3, quick_login_check=timedelta(0))


def guarded_realm(
    rules: BruteForce = RULES,
    iterations: int = ITERATIONS,
    more: tuple[PasswordRule, ...] = (),
    login: LoginSettings | None = None,
) -> Realm:
    """Return a realm whose passwords are cheap to hash."""
    policy = PasswordPolicy(
        (
            PasswordRule("hashAlgorithm", ALGORITHM),
            PasswordRule("hashIterations", str(iterations)),
            *more,
        )
    )
    return realm("demo", brute_force=rules, password_policy=policy, login=login or LoginSettings())


def password_credential(
    user_id: str = "alice-uuid", password: Secret = PASSWORD, iterations: int = ITERATIONS
) -> Credential:
    """Return the credential of a password."""
    made, secret = hash_password(password, ALGORITHM, iterations)
    return credential(user_id, credential_data=made, secret_data=secret)


async def store_user(
    database: Database, username: str = "alice", iterations: int = ITERATIONS, **fields: object
) -> User:
    """Store a user of the realm `demo` with the password and a complete profile."""
    address = f"{username.replace('@', '.')}@mail.test"
    profile = {"email": address, "first_name": "Ada", "last_name": "Lovelace"}
    stored = user(username, **(profile | fields))  # type: ignore[arg-type] # any field may be set
    async with database.write() as stores:
        await stores.users.add(stored)
        made = password_credential(stored.id, iterations=iterations)
        await stores.users.set_credential(stored.realm_id, made)
    return stored


class CountedEvents:
    """Metrics that remember the security events."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count no request."""

    def token_grant(self, realm: str, grant_type: str, outcome: str) -> None:
        """Count no grant."""

    def security_event(self, kind: str) -> None:
        """Count one."""
        self.events[kind] += 1


class RememberedTopics:
    """Messages to other gateways that stay here."""

    connected = True

    def __init__(self) -> None:
        self.topics: list[str] = []

    async def publish(self, topics: Sequence[str]) -> None:
        """Remember them."""
        self.topics.extend(topics)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        """Tell nobody."""


class CountingHasher(PooledPasswordHasher):
    """The product's hasher, which remembers how often a stored password was looked at.

    `checks` counts all checks, those at which there was nothing to look at too.
    """

    def __init__(self, threads: int = 2, waiting: int = 1_000) -> None:
        super().__init__(threads, waiting, refusal_pause=timedelta())
        self.looks = 0
        self.checks = 0

    async def check_password(
        self,
        password: Secret,
        stored: tuple[str, str] | None,
        *,
        realm_id: str,
        algorithm: str | None,
        iterations: int | None = None,
        costs: Sequence[HashCost] = (),
    ) -> bool:
        """Count and check."""
        self.looks += stored is not None
        self.checks += 1
        return await super().check_password(
            password,
            stored,
            realm_id=realm_id,
            algorithm=algorithm,
            iterations=iterations,
            costs=costs,
        )


class Gateway:
    """The sign-in of one gateway, with connections of its own to stores that all share."""

    def __init__(
        self,
        database: Database,
        server: RedisServer,
        clock: SetClock,
        hasher: CountingHasher | None = None,
    ) -> None:
        self.database = database
        self.lookups = database.lookups
        self.client = create_client(server.url)
        self.failures = RedisLoginFailures(self.client, scripts_at(clock))
        self.hasher = hasher or CountingHasher()
        self.clock = clock
        self.metrics = CountedEvents()
        self.invalidation = RememberedTopics()
        self.sign_ins = RedisAuthenticationSessions(self.client, clock, scripts_at(clock))
        self.sessions = RedisSessions(self.client, clock, scripts_at(clock))
        accounts, party, keys = Accounts(database), RelyingParty(PUBLIC_URL), Fido2WebAuthn()
        self.engine = SignInEngine(
            AuthenticationServices(
                database=database,
                directory=RealmCache(database.lookups, PyJwtKeyFactory(), clock, self.invalidation),
                invalidation=self.invalidation,
                authentication_sessions=self.sign_ins,
                user_sessions=self.sessions,
                limiter=RedisRateLimiter(self.client),
                marks=RedisOneTimeMarks(self.client),
                web_authn=keys,
                party=party,
                accounts=accounts,
                guard=BruteForceGuard(self.failures, self.metrics),
                passwords=PasswordCheck(self.hasher, database),
                new_passwords=PasswordChanges(NewPasswords(clock), self.hasher),
                codes=OneTimePasswordCheck(PyOtp(), database),
                keys=KeyCheck(keys, accounts, database, party, KeyDecoys(token_bytes(32))),
                updates=AccountUpdates(database, self.invalidation, clock),
                removal=AccountRemoval(self.sessions, self.failures),
            )
        )

    async def sign_in(
        self,
        realm: Realm,
        username: str = "alice",
        password: Secret | None = PASSWORD,
        code: str | None = None,
        rules: SignInRules = STANDARD,
    ) -> User:
        """Sign in now by the password grant; raises what refused it."""
        form = {"username": username}
        if password is not None:
            form["password"] = password.reveal()
        if code is not None:
            form["otp"] = code
        now, flow = self.clock.now(), rules.direct_grant
        assert flow is not None
        stored = await self.lookups.realm(realm.name)
        profile = None if stored is None else stored.value.user_profile
        ring = PyJwtKeyFactory().ring(())
        entry = RealmEntry(realm, ring, sign_in=rules, user_profile=profile)
        context = SignInContext(entry, client(), ADDRESS, now, form=form)
        session = session_of_one_request(
            realm_id=realm.id, client="client", flow=flow.id, started_at=now
        )
        step = await self.engine.begin(context, session, stored=False)
        if isinstance(step, Refused):
            raise step.error
        assert isinstance(step, SignedIn)
        return step.user

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close connections and threads; the process does not end while the threads wait."""
        self.hasher.close()
        await self.client.aclose()


def permanently(rules: BruteForce = RULES) -> BruteForce:
    """Return the rules with permanent lock-outs."""
    return replace(rules, permanent_lockout=True)
