"""`realmgate migrate`: bring the database to this version's schema, or check whether it has it.

Exit codes: 0 done or in sync, 1 differs (`--check`), 2 bad input, 3 unreachable.
"""

import asyncio

import click

from gateway.cli.installation import installed_settings


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a migration is due.")
@click.pass_context
def migrate(ctx: click.Context, *, check: bool) -> None:
    """Migrate the database to the schema of this version. Several may run at once."""
    from gateway.storage.sql.migrations import HEAD

    url = installed_settings(begins=True, needs_key=False).database_url
    if check:
        from gateway.storage.sql.revision import current_revision, is_older

        revision = asyncio.run(current_revision(url))
        click.echo(f"schema {revision or 'none'}, this version works with {HEAD}")
        ctx.exit(1 if is_older(revision) else 0)

    from gateway.storage.sql.migrate import migrate as migrate_database

    changed = asyncio.run(migrate_database(url))
    click.echo(f"schema brought to {HEAD}" if changed else f"schema already at {HEAD}")
