"""Gateways that start at the same time on an empty database create each thing once."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.admin.realms import administrators
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.settings import read_settings
from gateway.supervisor.preparation import prepare
from tests.support.storage import StoredDatabase


def test_a_realm_that_another_gateway_creates_meanwhile_is_used(
    tmp_path: Path, postgres_database: StoredDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other gateway commits between this one's query for the realm and its insertion.

    On SQLite there is one writer at a time, so the query and the insertion cannot be separated.
    """
    settings = read_settings(
        state_dir=tmp_path, admin_password=Secret("a-password"), database_url=postgres_database.url
    )
    create_realm = administrators.create_realm
    other = threading.Thread(target=prepare, args=(settings,))

    def create_later(document: Mapping[str, Any]) -> Realm:
        if threading.current_thread() is not other:
            other.start()
            other.join()
        return create_realm(document)

    monkeypatch.setattr(administrators, "create_realm", create_later)
    with capture_logs() as logged:
        prepare(settings)
    events = [entry["event"] for entry in logged]
    assert events.count("administrator created") == 1
    assert events.count("created by another gateway") == 1
