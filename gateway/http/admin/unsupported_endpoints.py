"""The endpoints of Keycloak's admin API that the gateway does not support, in one table.

Each requires the rights that Keycloak requires where it has the feature, and the objects of its
path. It then answers 501, or Keycloak's 404 where the feature is off in a realm or for a client,
with the sentence of its row. Keycloak: 7 (admin API);
https://www.keycloak.org/docs-api/latest/rest-api/index.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from gateway.admin.access import AdminRole, missing_rights
from gateway.domain.refusals import Forbidden, MissingPart, NotFound, NotSupported
from gateway.domain.tables import build_value, read_table
from gateway.http.admin.operations import REALM, Decided, Operation, State
from gateway.http.admin.requests import AdminRequest
from gateway.http.replies import Reply

_REFUSALS: Final = {each.__name__: each for each in (NotSupported, NotFound, MissingPart)}


@dataclass(frozen=True, slots=True)
class UnsupportedFeature:
    """Endpoints of one feature; `endpoints` are methods by path below `base`, below the realm."""

    tag: str
    text: str
    """Public: the error of the response and the summary of the operation."""
    endpoints: Mapping[str, str]
    view: tuple[AdminRole, ...] = ()
    manage: tuple[AdminRole, ...] = ()
    every_role: bool = False
    """Only a caller with all roles over the realm may call it."""
    base: str = ""
    refusal: str = "NotSupported"

    def operations(self) -> Iterator[Operation]:
        is_disabled = self.refusal != "NotSupported"
        status = HTTPStatus.NOT_FOUND if is_disabled else HTTPStatus.NOT_IMPLEMENTED
        for path, methods in self.endpoints.items():
            url = "/".join(part for part in (REALM, self.base, path) if part)
            for method in methods.split():
                roles = self.view if method == "GET" else self.manage
                yield Operation(
                    *(method, url, self.text, self._refuse, self.tag, roles or Decided.ANY_ROLE),
                    status=status,
                    state=State.NOT_SUPPORTED,
                )

    async def _refuse(self, request: AdminRequest) -> Reply:
        if self.every_role and missing_rights(request.acting):
            raise Forbidden("not every role over the realm")
        raise _REFUSALS[self.refusal](self.text)


UNSUPPORTED: Final[tuple[UnsupportedFeature, ...]] = build_value(
    tuple[UnsupportedFeature, ...],
    read_table("gateway.http.admin", "unsupported_endpoints.toml")["features"],
)


def unsupported_operations() -> Iterator[Operation]:
    """Return the rows of every unsupported endpoint."""
    for feature in UNSUPPORTED:
        yield from feature.operations()
