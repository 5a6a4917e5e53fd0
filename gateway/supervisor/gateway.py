"""One run of the gateway from first check to last file: the order of start and end.

Listen, run a private Redis where none is configured, prepare the stores, then fork the workers.
A mistake of the operator is reported before anything is changed.
"""

import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from gateway.domain.clock import SystemClock
from gateway.domain.errors import RealmgateError
from gateway.observability.logging import configure_logging
from gateway.settings import Settings, TcpAddress, share_metrics
from gateway.storage.redis.private_server import PrivateRedis
from gateway.supervisor.processes import (
    ENDING,
    Backoff,
    EarlySignals,
    Lifeline,
    Supervisor,
    WorkerPlan,
    end_at_once,
    limit_malloc_arenas,
)
from gateway.supervisor.sockets import (
    close_listener,
    make_directory,
    open_listener,
    refuse_connections,
)

Report = Callable[[RealmgateError], int]
"""Reports a failure to the operator and returns its exit code."""

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - made there by mkdtemp, for us alone
_METRICS: Final = "realmgate-metrics"


def run_gateway(settings: Settings, report: Report) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code. Raises RealmgateError before it runs."""
    configure_logging(settings.log_level, SystemClock())
    limit_malloc_arenas()
    signals = EarlySignals()
    run_directory = settings.state_dir / "run"
    make_directory(settings.state_dir)
    make_directory(run_directory)
    with ExitStack() as stack:
        public = open_listener(settings.listen)
        stack.callback(close_listener, public)
        management = open_listener(TcpAddress(settings.management_host, settings.management_port))
        stack.callback(close_listener, management)
        metrics = stack.enter_context(_metrics_directory(run_directory))
        share_metrics(metrics)
        redis = None if settings.redis_url else PrivateRedis(settings.state_dir)
        if redis is not None:
            stack.callback(redis.stop)
        with _started(redis):
            _share_program(settings)
        signals.check()
        code = _in_child(partial(_prepare, settings), report)
        signals.check()
        if code:
            return code
        structlog.get_logger().info(
            "listening", address=str(settings.listen), management=settings.management_port
        )
        return Supervisor(
            partial(_work, WorkerPlan(settings, public, management, metrics)),
            settings.workers,
            settings.shutdown_grace,
            tend=(lambda: None) if redis is None else _RedisCare(redis),
            refuse_connections=partial(refuse_connections, public),
        ).run()


def _share_program(settings: Settings) -> None:
    """Import the program before the workers are forked, where there are several to share it.

    Memory that a worker changes, if only by counting references, is copied for each worker. A
    single worker shares nothing: it imports the program itself, and the supervisor stays small.
    """
    if settings.workers == 1:
        return
    from gateway.bootstrap.services import preload  # noqa: PLC0415 - see above
    from gateway.supervisor import preparation, worker  # noqa: F401, PLC0415

    preload(settings)


def _prepare(settings: Settings) -> None:
    from gateway.supervisor.preparation import prepare  # noqa: PLC0415 - see _share_program

    prepare(settings)


def _work(plan: WorkerPlan, lifeline: Lifeline) -> int:
    # What is imported now stays: the garbage collector need not scan it, now and later.
    gc.disable()
    from gateway.bootstrap.services import import_adapters  # noqa: PLC0415 - see _share_program
    from gateway.supervisor.worker import run_worker  # noqa: PLC0415 - the same

    import_adapters()
    gc.freeze()
    gc.enable()
    return run_worker(plan, lifeline)


@contextmanager
def _started(redis: PrivateRedis | None) -> Iterator[None]:
    """Start the private Redis in a thread that has ended before anything is forked."""
    if redis is None:
        yield
        return
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(redis.start)
        yield
        starting.result()


class _RedisCare:
    """Restarts the private Redis when it has ended; until then the gateway runs without it."""

    def __init__(self, redis: PrivateRedis) -> None:
        self._redis = redis
        self._backoff = Backoff()
        self._launched = time.monotonic()
        self._due: float | None = None
        self._log = structlog.get_logger()

    def __call__(self) -> None:
        now = time.monotonic()
        if self._due is None and self._redis.has_ended:
            pause = self._backoff.pause(now - self._launched)
            self._log.error("the private redis ended", restart_in=pause)
            self._due = now + pause
        if self._due is not None and now >= self._due:
            self._due, self._launched = None, now
            self._restart()

    def _restart(self) -> None:
        try:
            self._redis.restart()
        except (RealmgateError, OSError) as failure:
            self._log.error("the private redis does not start", reason=str(failure))


def _in_child(work: Callable[[], None], report: Report) -> int:
    """Do `work` in a process of its own: this one stays without threads and event loop."""
    # Blocked until each process has its own handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            end_at_once()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            work()
            code = 0
        except RealmgateError as failure:
            code = report(failure)
        finally:
            if sys.exc_info()[0] is not None:
                structlog.get_logger().exception("the start failed")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except SystemExit:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


@contextmanager
def _metrics_directory(run_directory: Path) -> Iterator[Path]:
    """Make a directory for the counters of this run; directories of dead runs are removed.

    The counters are mapped files with holes: on a full disk the next count would kill the worker
    with SIGBUS. So they lie in memory where the system has a file system there.
    """
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else run_directory
    for old in place.glob(f"{_METRICS}-*"):
        if old.stat().st_uid == os.geteuid() and not _alive(old.name.split("-")[2]):
            shutil.rmtree(old)
    directory = Path(tempfile.mkdtemp(prefix=f"{_METRICS}-{os.getpid()}-", dir=place))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
