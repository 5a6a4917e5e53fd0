"""JSON documents that belong to a realm beside its settings, by kind and name."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol


class DocumentKind(StrEnum):
    """The kinds of documents; `representations` define their shapes."""

    AUTHENTICATION_FLOW = "authentication-flow"
    AUTHENTICATOR_CONFIG = "authenticator-config"
    CLIENT_INITIAL_ACCESS = "client-initial-access"
    COMPONENT = "component"
    LOCALIZATION = "localization"
    REQUIRED_ACTION = "required-action"
    USER_PROFILE = "user-profile"


class RealmDocuments(Protocol):
    """Documents of realms."""

    async def find(self, realm_id: str, kind: DocumentKind, name: str) -> Mapping[str, Any] | None:
        """Return the document."""

    async def list(self, realm_id: str, kind: DocumentKind) -> Mapping[str, Mapping[str, Any]]:
        """Return the documents of a kind by name, in the order of the names."""

    def expect_find(self, realm_id: str, kind: DocumentKind, name: str) -> None:
        """Read it together with the next statement of the transaction, for a `find` to come."""

    def expect_list(self, realm_id: str, kind: DocumentKind) -> None:
        """Do the same for a `list` to come."""

    async def put(
        self, realm_id: str, kind: DocumentKind, name: str, document: Mapping[str, Any]
    ) -> None:
        """Store the document under its name, replacing the one there."""

    async def remove(self, realm_id: str, kind: DocumentKind, name: str) -> bool:
        """Remove the document; return whether it existed."""
