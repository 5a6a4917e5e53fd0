"""Files that commands read as a whole, up to a limit: a part of one could mean something else."""

from typing import IO, AnyStr

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
