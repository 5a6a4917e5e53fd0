"""What the process imports that gateways are forked from; no other process may import it.

With what a gateway imports when it first needs it, and the statements that each process compiles
once: a third of the processor time of a start is for migrations and statements.

prometheus_client asks for the directory of the counters when it is imported. Each gateway sets its
own before it counts.
"""

import gc
import os

gc.disable()
os.environ["PROMETHEUS_MULTIPROC_DIR"] = ""

import alembic.command  # noqa: E402, F401 - see above
import babel.dates  # noqa: E402, F401
import segno  # noqa: E402, F401

from gateway import mail  # noqa: E402, F401
from gateway.cli import installation  # noqa: E402, F401
from gateway.crypto.web_authn import ceremonies  # noqa: E402, F401
from gateway.domain.secrets import Secret  # noqa: E402
from gateway.storage.sql.address import parse_database_url  # noqa: E402
from gateway.storage.sql.database import create_engines  # noqa: E402
from gateway.storage.sql.lookup_statements import LookupQueries  # noqa: E402
from gateway.supervisor import gateway, preparation, worker  # noqa: E402, F401
from tests.support import forked_gateway  # noqa: E402, F401 - the function that the fork calls
from tests.support.prepared_rsa_keys import use_prepared_keys  # noqa: E402

for url in ("sqlite:////nowhere", "postgresql://nobody@localhost/nothing"):
    LookupQueries.of(create_engines(parse_database_url(Secret(url))).reader.dialect)

use_prepared_keys()
gc.freeze()
