"""The URLs of the account console, where sign-ins to it lead back to."""

from urllib.parse import urlencode

from gateway.protocol.account_console import AccountPage, AccountResult


def account_url(issuer: str, page: AccountPage, **parameters: str) -> str:
    """Return the URL of a page; empty parameters are left out."""
    query = urlencode({name: text for name, text in parameters.items() if text})
    return f"{issuer}/account/{page.value}" + (f"?{query}" if query else "")


def result_url(issuer: str, result: AccountResult) -> str:
    """Return the URL of the page that a sign-in was for, with what became of its action."""
    return account_url(issuer, result.page, kc_action=result.action, kc_action_status=result.status)
