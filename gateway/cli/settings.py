"""`realmgate settings`: what is in force, and how each setting is called."""

import click


@click.group()
def settings() -> None:
    """Show the settings in force, secrets masked."""


@settings.command()
def show() -> None:
    """Print every setting by its environment variable."""
    from gateway.settings import load_settings, variable  # noqa: PLC0415 - help stays quick

    for field, value in load_settings():
        if isinstance(value, tuple):
            shown = ",".join(map(str, value))
        else:
            shown = "" if value is None else str(value)
        click.echo(f"{variable(field)}={shown}")
