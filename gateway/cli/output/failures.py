"""The lines and the exit code of a failed command: 2 bad input, 3 unreachable, 1 the rest."""

import os
import sys
from contextlib import suppress

import click

from gateway.domain.errors import InvalidInput, RealmgateError, StoreUnavailable


def report(failure: RealmgateError) -> int:
    """Print every line of `failure` and return its exit code."""
    from gateway.admin.access import BadRequest, Refused, RefusedByCode

    errors = failure.errors if isinstance(failure, InvalidInput) else ()
    for line in [str(error) for error in errors] or str(failure).splitlines():
        click.echo(f"Error: {line}", err=True)
    match failure:
        case InvalidInput() | Refused() | BadRequest() | RefusedByCode():
            return 2
        case StoreUnavailable():
            return 3
        case _:
            return 1


def report_of_system(failure: OSError) -> int:
    """Print an error of the operating system, such as a full disk, and return the exit code."""
    click.echo(f"Error: {failure.strerror or failure}", err=True)
    # The rest of the output would be written again at exit, and fail again.
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return 1
