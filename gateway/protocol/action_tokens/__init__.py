"""The links of mails: checked when they are opened, and acted upon once.

A kind of link is one file here and one line in `action_token_handlers`.
"""

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.email_updates import EmailUpdates
from gateway.domain.ports.storage import Database
from gateway.protocol.action_tokens.endpoint import ActionTokenEndpoint
from gateway.protocol.action_tokens.execute_actions import ExecuteActionsLink
from gateway.protocol.action_tokens.handler import (
    ActionTokenHandler,
    Confirmation,
    LinkVisit,
    refused_link,
)
from gateway.protocol.action_tokens.reset_credentials import ResetCredentialsLink
from gateway.protocol.action_tokens.update_email import UpdateEmailLink
from gateway.protocol.action_tokens.verify_email import VerifyEmailLink
from gateway.protocol.browser_sign_in import BrowserSignIn
from gateway.protocol.sessions import Sessions


def action_token_handlers(
    sign_in: BrowserSignIn, updates: AccountUpdates, sessions: Sessions, database: Database
) -> tuple[ActionTokenHandler, ...]:
    """Return what acts for each kind of link."""
    return (
        VerifyEmailLink(sign_in, updates),
        ExecuteActionsLink(sign_in, updates, database),
        UpdateEmailLink(EmailUpdates(updates), sessions, database),
        ResetCredentialsLink(sign_in, updates, database),
    )
