"""Input of commands: files, secrets, and values that begin with a hyphen.

Secrets that commands read: prompted for without echo, or from a file, never arguments.

Arguments are visible in the list of processes and in the history of the shell.
"""

import re
from typing import IO, Any, AnyStr, Final

import click


def read_whole(file: IO[AnyStr], most: int, hint: str) -> AnyStr:
    """Return the content; raises BadParameter where it is longer than `most` bytes or characters.

    `hint` is the argument or option that names the file.
    """
    content = file.read(most + 1)
    if len(content) > most:
        unit = "bytes" if isinstance(content, bytes) else "characters"
        raise click.BadParameter(f"it is longer than {most} {unit}", param_hint=hint)
    return content


_ID: Final = re.compile(r"-[A-Za-z0-9_-]{20,}")
"""Longer than any option of these commands."""


class IdCommand(click.Command):
    """A command with an id as its last argument: an id is never read as options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args:
            ids = [text for text in args if _ID.fullmatch(text)]
            args = [*(text for text in args if text not in ids), "--", *ids]
        return super().parse_args(ctx, args)


_LONGEST: Final = 10_000
"""Characters of a file."""


def read_secret(file: Any, prompt: str, option: str) -> str:
    """Return the text of `file` without its last line end; prompts twice where it is None.

    `option` names the file. Raises UsageError without a terminal, BadParameter for
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
