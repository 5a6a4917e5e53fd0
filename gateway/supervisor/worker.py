"""One worker process: opens its services, answers, drains and ends.

On SIGTERM, or when the supervisor is gone, readiness fails and each answer closes its connection;
after a moment the worker stops accepting, and when requests have ceased it ends.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import structlog
import uvloop

from gateway.bootstrap.applications import build_applications
from gateway.bootstrap.services import Services, mail_delivery, open_services, webhook_deliveries
from gateway.domain.errors import RealmgateError
from gateway.http.management import Lifecycle
from gateway.supervisor.deliveries import LOGOUT_NOTICES, MAILS, WEBHOOKS, run_deliveries
from gateway.supervisor.housekeeping import (
    queue_expiry_mails,
    run_housekeeping,
    write_seen_certificates,
)
from gateway.supervisor.processes import (
    CANNOT_START,
    REFUSED_AFTER,
    Lifeline,
    WorkerPlan,
    return_free_memory,
)
from gateway.supervisor.server.connections import Serving, serve
from gateway.supervisor.sockets import refuse_connections

_NOTICE: Final = REFUSED_AFTER + timedelta(milliseconds=250)
"""How long connections are accepted at the end; the supervisor refuses further ones before."""
_MANAGEMENT_GRACE: Final = timedelta(milliseconds=500)
_NOTICE_INTERVAL: Final = timedelta(milliseconds=500)


def run_worker(plan: WorkerPlan, lifeline: Lifeline) -> int:
    """Run one worker to its end; returns the exit code."""
    # The process ends with the worker. Closing the loop would wait, sometimes forever, for
    # connections that were abandoned while they were opened.
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    try:
        runner.run(_work(plan, lifeline))
    except RealmgateError as failure:
        structlog.get_logger().error("worker cannot start", reason=str(failure))
        return CANNOT_START
    return 0


async def _work(plan: WorkerPlan, lifeline: Lifeline) -> None:
    settings = plan.settings
    lifecycle = Lifecycle()
    asked, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, asked.set)
    loop.add_reader(lifeline.parent, _parent_died, loop, plan.public, lifeline, asked)
    async with open_services(settings) as services, asyncio.TaskGroup() as group:
        services.make_all()
        apps = build_applications(settings, services, lifecycle, plan.metrics_directory)
        await services.invalidation.start()
        signals = services.database.queue_signals
        notice = min(_NOTICE, settings.shutdown_grace)
        public = Serving(
            apps.public, plan.public, asked.wait, settings.shutdown_grace, notice=notice
        )
        answering = group.create_task(serve(public))
        management = Serving(apps.management, plan.management, ended.wait, _MANAGEMENT_GRACE)
        group.create_task(serve(management))
        endless = [
            group.create_task(
                run_housekeeping(
                    services.database,
                    services.online_sessions,
                    services.one_time_marks,
                    services.clock,
                )
            ),
            group.create_task(write_seen_certificates(services.seen_certificates)),
            group.create_task(return_free_memory()),
            group.create_task(services.events.run()),
            group.create_task(services.follower.follow()),
            group.create_task(services.realm_revocation_lists.run()),
            group.create_task(services.point_lists.run()),
            *_watching(services, group),
            group.create_task(
                run_deliveries(apps.notices, LOGOUT_NOTICES, signals, _NOTICE_INTERVAL)
            ),
            group.create_task(queue_expiry_mails(apps.expiry_mails)),
            group.create_task(run_deliveries(mail_delivery(services), MAILS, signals)),
            group.create_task(run_deliveries(webhook_deliveries(services), WEBHOOKS, signals)),
        ]
        lifecycle.started = True
        os.write(lifeline.ready, b"1")
        os.close(lifeline.ready)
        await asked.wait()
        lifecycle.draining = True
        await answering
        ended.set()
        for task in endless:
            task.cancel()


def _watching(services: Services, group: asyncio.TaskGroup) -> Iterator[asyncio.Task[None]]:
    if services.rules_file is not None:
        yield group.create_task(services.rules_file.watch())
    if services.revocation_downloads is not None:
        yield group.create_task(services.revocation_downloads.run())


def _parent_died(
    loop: asyncio.AbstractEventLoop, public: socket.socket, lifeline: Lifeline, asked: asyncio.Event
) -> None:
    loop.remove_reader(lifeline.parent)
    refuse_connections(public)
    asked.set()
