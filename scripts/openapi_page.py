"""Prints docs/openapi.json, the OpenAPI document of the admin API, as a gateway would serve it.

`python -m scripts.openapi_page > docs/openapi.json`; a test compares them.
"""

import sys

from gateway.bootstrap.applications import describe_admin_api
from scripts.admin_operations import read_operations


def page() -> str:
    """Return the document; no database and no Redis is asked."""
    return describe_admin_api(read_operations()).decode()


if __name__ == "__main__":
    sys.stdout.write(page())
