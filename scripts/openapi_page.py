"""Prints docs/openapi.json, the OpenAPI document of the admin API, as a gateway would serve it.

`python -m scripts.openapi_page > docs/openapi.json`; a test compares them.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from gateway.bootstrap import open_services
from gateway.bootstrap.applications import describe_admin_api, http_parts
from gateway.bootstrap.client_certificates import read_client_certificates
from gateway.settings import Settings


def page() -> str:
    """Return the document; no database and no Redis is asked."""
    return asyncio.run(_page())


async def _page() -> str:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(state_dir=Path(folder))
        async with open_services(settings) as services:
            certificates = read_client_certificates(settings)
            return describe_admin_api(http_parts(settings, services, certificates)).decode()


if __name__ == "__main__":
    sys.stdout.write(page())
