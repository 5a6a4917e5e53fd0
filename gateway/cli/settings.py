"""`realmgate settings`: what is in force, and how each setting is called."""

import shlex

import click


@click.group()
def settings() -> None:
    """Show the settings in force, secrets masked."""


@settings.command(short_help="Print every setting in the format of .env.")
def show() -> None:
    """Print every setting with its environment variable, in the format of .env.

    Secrets are masked, so their lines are comments.
    """
    from gateway.settings import SETTING_NAMES, load_settings, variable, written
    from gateway.settings.values import HIDDEN

    values = load_settings()
    for field in SETTING_NAMES:
        value = getattr(values, field)
        text = written(value)
        hidden = HIDDEN in text and text != str(value)
        click.echo(f"{'# ' if hidden else ''}{variable(field)}={shlex.quote(text) if text else ''}")
