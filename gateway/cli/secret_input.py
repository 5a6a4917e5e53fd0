"""Secrets that commands read: prompted for without echo, or from a file, never arguments.

Arguments are visible in the list of processes and in the history of the shell.
"""

from typing import Any, Final

import click

from gateway.cli.file_input import read_whole

_LONGEST: Final = 10_000
"""Characters of a file."""


def read_secret(file: Any, prompt: str, option: str) -> str:
    """Return the text of `file` without its last line end; prompts twice where it is None.

    `option` is the one that names the file. Raises UsageError without a terminal, BadParameter for
    a file that is not text or is longer than 10,000 characters.
    """
    return _prompted(prompt, option) if file is None else _content(file, option)


def _prompted(prompt: str, option: str) -> str:
    import warnings
    from getpass import GetPassWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", GetPassWarning)  # the echo cannot be switched off
            text: str = click.prompt(prompt, hide_input=True, confirmation_prompt="Once more")
    except GetPassWarning as error:
        raise click.UsageError(
            f"No terminal to ask for a {prompt.lower()}: use {option} FILE, or - for standard"
            " input."
        ) from error
    return text


def _content(file: Any, option: str) -> str:
    try:
        text: str = read_whole(file, _LONGEST, option)
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter("it cannot be read as UTF-8", param_hint=option) from error
    return text.removesuffix("\n").removesuffix("\r")
