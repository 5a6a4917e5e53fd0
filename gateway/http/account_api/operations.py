"""The rows of the account API's table: a method of a URL, its body, and what answers it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.accounts.access import AccountCaller
from gateway.domain.texts import Texts
from gateway.http.admin.operations import Body
from gateway.http.replies import Reply
from gateway.protocol.parameters import Parameters

_TRUE: Final = "true"


@dataclass(frozen=True, slots=True)
class AccountRequest:
    """An admitted request; `path` are the values of the placeholders, `body` is JSON.

    `texts` returns those of the user's language.
    """

    caller: AccountCaller
    path: Mapping[str, str]
    query: Parameters
    texts: Callable[[], Awaitable[Texts]]
    body: Any = field(default=None, repr=False)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a query parameter; any text but `true` is false."""
        text = self.query.raw(name)
        return default if text is None else text.lower() == _TRUE


AccountHandler = Callable[[AccountRequest], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class AccountOperation:
    """`path` is relative to the account: segments, `{name}` for any one."""

    method: str
    path: str
    handler: AccountHandler
    body: Body | None = None
