"""The sign-in engine: runs a realm's flows for every way to sign in.

A flow has executions: authenticators, and flows of their own. An authenticator succeeds, fails, or
challenges the user; its input and its results are values.
"""

from gateway.authentication.engine.results import (
    AccountChange,
    AccountChanges,
    Challenged,
    Inform,
    PageExpired,
    Refused,
    Replayed,
    SignedIn,
    SignInResult,
)
from gateway.authentication.engine.sign_in import (
    BrowserSession,
    RequestedAuthentication,
    SignInContext,
    required_by,
)
