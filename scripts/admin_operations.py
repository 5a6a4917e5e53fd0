"""The operations of the admin API as a gateway serves them: no database and no Redis is asked."""

import asyncio
import tempfile
from pathlib import Path

from gateway.bootstrap import open_services
from gateway.bootstrap.applications import build_applications
from gateway.http.admin.operations import Operation
from gateway.http.management import Lifecycle
from gateway.settings import read_settings


def read_operations() -> tuple[Operation, ...]:
    """Return every row of the table of operations."""
    return asyncio.run(_read())


async def _read() -> tuple[Operation, ...]:
    with tempfile.TemporaryDirectory() as folder:
        settings = read_settings(state_dir=Path(folder))
        async with open_services(settings) as services:
            return build_applications(settings, services, Lifecycle(), Path(folder)).operations
