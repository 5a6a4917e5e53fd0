"""The engine with every authenticator and condition that acts."""

from collections.abc import Sequence
from secrets import token_bytes

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.authenticators import Unavailable, authenticators
from gateway.authentication.authenticators.reset_links import ResetLinks
from gateway.authentication.brute_force_guard import BruteForceGuard
from gateway.authentication.conditions import conditions
from gateway.authentication.engine import SignInEngine
from gateway.authentication.engine.flow_runner import FlowRunner
from gateway.authentication.engine.form_action import FormAction
from gateway.authentication.engine.guarded_checks import PermanentLockouts
from gateway.authentication.engine.required_action import RequiredActions
from gateway.authentication.engine.sign_in import Authenticator
from gateway.authentication.form_actions import form_actions
from gateway.authentication.link_mails import MailPauses
from gateway.authentication.new_accounts.confirmations import Confirmations
from gateway.authentication.new_accounts.registrations import Registrations
from gateway.authentication.new_passwords import PasswordChanges
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.authentication.password_check import PasswordCheck
from gateway.authentication.pending_actions import PendingActions
from gateway.authentication.recovery_codes import RecoveryCodeCheck
from gateway.authentication.removal import AccountRemoval
from gateway.authentication.required_actions import required_actions
from gateway.authentication.web_authn import (
    PASSKEYS,
    SECURITY_KEYS,
    KeyCheck,
    KeyDecoys,
    KeyRegistration,
    RelyingParty,
)
from gateway.domain.clock import Clock
from gateway.domain.ports.directory import Directory
from gateway.domain.ports.invalidation import Invalidation
from gateway.domain.ports.one_time_passwords import OneTimeMarks
from gateway.domain.ports.passwords import PasswordHasher
from gateway.domain.ports.rate_limiter import RateLimiter
from gateway.domain.ports.sessions import SessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.ports.web_authn import WebAuthn


def flow_runner(
    accounts: Accounts,
    passwords: PasswordCheck,
    codes: OneTimePasswordCheck,
    recovery_codes: RecoveryCodeCheck,
    keys: KeyCheck,
    *,
    directory: Directory,
    sessions: SessionStore,
    registrations: Registrations,
    confirmations: Confirmations,
    actions: Sequence[FormAction],
    reset_links: ResetLinks,
    updates: AccountUpdates,
) -> FlowRunner:
    """Return what runs flows. `sessions` are the online ones."""
    found = authenticators(
        *(accounts, passwords, codes, recovery_codes, sessions),
        registrations=registrations,
        confirmations=confirmations,
        actions=actions,
        reset_links=reset_links,
        updates=updates,
        keys=keys,
    )
    acting = {each.id: each for each in found}

    def find(name: str) -> Authenticator:
        return acting.get(name) or Unavailable(name)

    decide = {each.id: each for each in conditions(accounts, directory, find)}
    return FlowRunner(acting, decide, Unavailable, accounts)


def sign_in_engine(
    *,
    database: Database,
    directory: Directory,
    hasher: PasswordHasher,
    guard: BruteForceGuard,
    codes: OneTimePasswordCheck,
    sessions: SessionStore,
    invalidation: Invalidation,
    new_passwords: PasswordChanges,
    limiter: RateLimiter,
    marks: OneTimeMarks,
    removal: AccountRemoval,
    web_authn: WebAuthn,
    public_url: str,
    clock: Clock,
    decoys: KeyDecoys | None = None,
) -> SignInEngine:
    """Return the engine. `sessions` are the online ones; without `decoys` it makes its own."""
    accounts = Accounts(database)
    passwords = PasswordCheck(hasher, database)
    updates = AccountUpdates(database, invalidation, clock)
    party = RelyingParty(public_url)
    return SignInEngine(
        flow_runner(
            accounts,
            passwords,
            codes,
            RecoveryCodeCheck(updates),
            KeyCheck(web_authn, accounts, database, party, decoys or KeyDecoys(token_bytes(32))),
            directory=directory,
            sessions=sessions,
            registrations=Registrations(database, limiter),
            confirmations=Confirmations(database),
            actions=form_actions(new_passwords),
            reset_links=ResetLinks(database, limiter),
            updates=updates,
        ),
        accounts=accounts,
        guard=guard,
        lockouts=PermanentLockouts(database, invalidation),
        passwords=passwords,
        limiter=limiter,
        actions=RequiredActions(
            accounts,
            PendingActions(database, accounts),
            required_actions(
                accounts,
                new_passwords,
                codes,
                updates,
                database=database,
                pauses=MailPauses(marks, limiter),
                directory=directory,
                removal=removal,
                security_keys=KeyRegistration(web_authn, party, SECURITY_KEYS),
                passkeys=KeyRegistration(web_authn, party, PASSKEYS),
            ),
        ),
    )
