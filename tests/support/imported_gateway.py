"""What the process imports that gateways are forked from; no other process may import it.

prometheus_client asks for the directory of the counters when it is imported. Each gateway sets its
own before it counts.
"""

import gc
import os

gc.disable()
os.environ["PROMETHEUS_MULTIPROC_DIR"] = ""

from gateway.supervisor import gateway, preparation, worker  # noqa: E402, F401 - see above
from tests.support import forked_gateway  # noqa: E402, F401 - the function that the fork calls

gc.freeze()
