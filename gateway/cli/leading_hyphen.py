"""Commands for ids in base64url, of which one in 64 begins with a hyphen as options do."""

import re
from typing import Final

import click

_ID: Final = re.compile(r"-[A-Za-z0-9_-]{20,}")
"""Longer than any option of these commands."""


class IdCommand(click.Command):
    """A command with an id as its last argument: an id is never read as options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args:
            ids = [text for text in args if _ID.fullmatch(text)]
            args = [*(text for text in args if text not in ids), "--", *ids]
        return super().parse_args(ctx, args)
