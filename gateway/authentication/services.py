"""The services that authenticators, conditions, required actions and the sign-in engine share."""

from dataclasses import dataclass

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Accounts
from gateway.authentication.brute_force_protection import BruteForceGuard
from gateway.authentication.one_time_passwords import OneTimePasswordCheck
from gateway.authentication.passwords import PasswordChanges, PasswordCheck
from gateway.authentication.removal import AccountRemoval
from gateway.authentication.web_authn import KeyCheck, RelyingParty
from gateway.domain.limits.rate_limits import RateLimiter
from gateway.domain.ports.credentials import OneTimeMarks, WebAuthn
from gateway.domain.ports.invalidation import Invalidation
from gateway.domain.ports.lookups import Directory
from gateway.domain.ports.sessions import SessionStore
from gateway.domain.ports.sign_in import AuthenticationSessionStore
from gateway.domain.ports.storage import Database


@dataclass(frozen=True, slots=True)
class AuthenticationServices:
    """The services of a sign-in; each of its parts takes some of them.

    `authentication_sessions` are the sign-ins that wait for their users, `user_sessions` the online
    sessions of users who have signed in.
    """

    database: Database
    directory: Directory
    invalidation: Invalidation
    authentication_sessions: AuthenticationSessionStore
    user_sessions: SessionStore
    limiter: RateLimiter
    marks: OneTimeMarks
    web_authn: WebAuthn
    party: RelyingParty
    accounts: Accounts
    guard: BruteForceGuard
    passwords: PasswordCheck
    new_passwords: PasswordChanges
    codes: OneTimePasswordCheck
    keys: KeyCheck
    updates: AccountUpdates
    removal: AccountRemoval
