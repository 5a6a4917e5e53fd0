"""The `realmgate` command: subcommands are imported only when they run, so that help is quick.

Exit codes: 0 done or in sync, 1 failed or differs, 2 usage or bad input, 3 unreachable.
"""

import errno
import gc
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from gateway import __version__
from gateway.cli.output import report, report_of_system
from gateway.domain.errors import RealmgateError

COMMANDS = {
    "start": ("gateway.cli.installation:start", "Run the gateway."),
    "migrate": (
        "gateway.cli.installation:migrate",
        "Migrate the database to the schema of this version.",
    ),
    "realm": ("gateway.cli.realm:realm", "Create, change, delete, import and export realms."),
    "client": ("gateway.cli.client:client", "List, create, change and delete clients."),
    "client-scope": (
        "gateway.cli.object_commands:client_scope",
        "Manage client scopes, their mappers and roles.",
    ),
    "client-policy": ("gateway.cli.object_commands:client_policy", "Manage client policies."),
    "client-profile": ("gateway.cli.object_commands:client_profile", "Manage client profiles."),
    "role": ("gateway.cli.role:role", "List, create, change and delete roles."),
    "group": ("gateway.cli.group:group", "List, create, change and delete groups."),
    "user": ("gateway.cli.user:user", "Create, change, unlock and import users."),
    "user-profile": (
        "gateway.cli.object_commands:user_profile",
        "Manage the user profile: attributes of users and their groups.",
    ),
    "flow": ("gateway.cli.object_commands:flow", "Manage authentication flows."),
    "required-action": (
        "gateway.cli.object_commands:required_action",
        "Manage required actions.",
    ),
    "component": ("gateway.cli.object_commands:component", "Manage components."),
    "initial-access": (
        "gateway.cli.object_commands:initial_access",
        "Manage initial access tokens for the registration of clients.",
    ),
    "identity-provider": (
        "gateway.cli.object_commands:identity_provider",
        "Identity providers: not supported by this version.",
    ),
    "text": (
        "gateway.cli.object_commands:text",
        "Manage the texts of pages and mails of a realm.",
    ),
    "session": ("gateway.cli.session:session", "List and end sessions."),
    "event": ("gateway.cli.event:event", "List, follow and delete events."),
    "mail": ("gateway.cli.deliveries:mail", "List mails that wait, and test a mail server."),
    "webhook": (
        "gateway.cli.deliveries:webhook",
        "List events that wait for webhooks, and send them again.",
    ),
    "keys": ("gateway.cli.keys:keys", "List and rotate a realm's signing keys."),
    "guard": (
        "gateway.cli.guard:guard",
        "List, change, check and explain the sites that are protected.",
    ),
    "certs": ("gateway.cli.certs:certs", "Trust, deny and issue certificates; lock devices."),
    "nginx": ("gateway.cli.nginx:nginx", "Write nginx's configuration for this machine."),
    "settings": (
        "gateway.cli.installation:settings",
        "Show the settings in force, secrets masked.",
    ),
    "doctor": ("gateway.doctor.command:doctor", "Check this installation and report problems."),
}
"""Module and function of each command, and its line in the help."""
_FEW_COLLECTIONS = 100_000
"""New objects until garbage is collected."""


_THRESHOLDS = gc.get_threshold()


def collect_garbage_often() -> None:
    """Collect garbage as Python does: for a command that runs for long."""
    gc.set_threshold(*_THRESHOLDS)


class _LazyGroup(click.Group):
    """Lists commands from the table and imports one when it is called."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> Any:
        """Run the command of `args`; without them, that of this process."""
        if args is None:
            # Modules stay until the command ends: collecting garbage would take a sixth of it.
            gc.set_threshold(_FEW_COLLECTIONS, *_THRESHOLDS[1:])
        return super().main(args, *others, **options)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        if cmd_name == "start":
            collect_garbage_often()
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        if isinstance(command, click.Command):
            return command
        # A kind of small resource: its module is imported with the first command of one.
        from gateway.cli.resources import resource_group

        return resource_group(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; an expected failure ends it with its lines and its exit code."""
        try:
            return super().invoke(ctx)
        except RealmgateError as failure:
            ctx.exit(report(failure))
        except OSError as failure:
            if failure.errno == errno.EPIPE:
                raise  # the reader has closed the pipe: click ends silently
            ctx.exit(report_of_system(failure))


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="realmgate")
def main() -> None:
    """Administer the gateway that is configured by the environment or by .env."""
