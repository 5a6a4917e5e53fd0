"""A visit to a page of the account console, as what a sign-in is for. Keycloak: 17.7."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from gateway.domain.ports.directory import ClientEntry, RealmEntry
from gateway.protocol.account_console.pages import AccountPage, account_page
from gateway.protocol.authorization import Prompt, RequestedLevel, StoredRequestUnusable
from gateway.protocol.scopes import GrantedScopes, still_granted

_PAGE: Final = "account_page"


@dataclass(frozen=True, slots=True)
class AccountVisit:
    """The page that the user wants to see, and the action to perform before, if any.

    `action` is a required action as in `kc_action`, `action_parameter` what follows its name.
    """

    client: ClientEntry = field(repr=False)
    scopes: GrantedScopes = field(repr=False)
    page: AccountPage
    action: str | None = None
    action_parameter: str | None = field(default=None, repr=False)
    prompt: frozenset[Prompt] = frozenset()
    max_age: timedelta | None = None
    login_hint: str | None = None
    hinted_user: str | None = None
    level: RequestedLevel | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)

    @property
    def event_details(self) -> Mapping[str, str]:
        """What the event of the sign-in says of it besides: nothing."""
        return {}

    def stored(self) -> Mapping[str, str]:
        """Return the visit as text by names; `restored_visit` reads it."""
        texts = {
            "client_id": self.client.client.client_id,
            _PAGE: self.page.value,
            "kc_action": self.action,
            "kc_action_parameter": self.action_parameter,
        }
        return {name: text for name, text in texts.items() if text is not None}


@dataclass(frozen=True, slots=True)
class AccountResult:
    """The browser goes to a page. `action` and `status` say what became of the action, if any."""

    page: AccountPage
    action: str = ""
    status: str = ""
    """`kc_action_status`: success, cancelled or error."""


def account_result(stored: Mapping[str, str]) -> AccountResult | None:
    """Return where a stored visit leads, None for other requests and unknown pages."""
    page = account_page(stored.get(_PAGE))
    return None if page is None else AccountResult(page)


def names_account_page(stored: Mapping[str, str]) -> bool:
    """Tell whether a stored request is a visit to the console."""
    return _PAGE in stored


def account_visit(
    realm: RealmEntry,
    client: ClientEntry,
    page: AccountPage,
    action: str | None = None,
    action_parameter: str | None = None,
) -> AccountVisit:
    """Return a visit with the client's default scopes."""
    scopes = still_granted(realm, client.client, ())
    return AccountVisit(client, scopes, page, action, action_parameter)


def restored_visit(
    stored: Mapping[str, str], realm: RealmEntry, client: ClientEntry
) -> AccountVisit:
    """Return the visit that `stored` was written from; raises StoredRequestUnusable."""
    page = account_page(stored.get(_PAGE))
    if page is None or stored.get("client_id") != client.client.client_id:
        raise StoredRequestUnusable("the visit of another page or client")
    return account_visit(
        realm, client, page, stored.get("kc_action"), stored.get("kc_action_parameter")
    )
