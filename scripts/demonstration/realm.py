"""Prepares the realm for the demonstration: clients, the user, the protected site.

Each entry is a command that an operator types as `realmgate ...`. All run in one process, because
starting one takes a second.
"""

import argparse
import io
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from urllib.parse import urlsplit

from gateway.cli import main as realmgate

APPLICATION, SITE_CLIENT, SERVICE, DEVICE = "demo-app", "demo-site", "demo-service", "demo-device"
USER = "ada"
Command = Sequence[str]


class PreparationFailed(Exception):
    """A command has failed; the text is what it printed."""


def prepare(state: Path, realm: str, application_url: str, site_url: str) -> None:
    """Create or replace what the demonstration needs; raises PreparationFailed.

    The database may be older or newer than the files of the secrets: each command has a second one
    for the case that the first finds nothing to change.
    """
    secrets, site = state / "secrets", state / "internal-service.json"
    site.write_text(json.dumps(_site(site_url), indent=2) + "\n")
    in_realm = ("--realm", realm)
    application = (
        *(APPLICATION, *in_realm, "--secret-file", str(secrets / f"{APPLICATION}.secret")),
        *("--set", "name=Demo application", "--set", f"baseUrl={application_url}/"),
        *("--set", f'redirectUris=["{application_url}/callback"]'),
        *("--set", f"attributes={json.dumps(_application_attributes(application_url))}"),
    )
    site_client = (
        *(SITE_CLIENT, *in_realm, "--set", "name=Internal service"),
        *("--set", f"baseUrl={site_url}/"),
        *("--set", f'redirectUris=["{site_url}/.realmgate/callback"]'),
    )
    password = (USER, *in_realm, "--password-file", str(secrets / f"{USER}.password"))
    person = (
        *("--email", "ada@example.com", "--email-verified"),
        *("--first-name", "Ada", "--last-name", "Lovelace"),
    )
    _run(("client", "update", *application), ("client", "create", *application))
    _run(("client", "update", *site_client), ("client", "create", *site_client))
    _run(("user", "set-password", *password), ("user", "create", *password, *person))
    _run(("guard", "set", str(site), *in_realm))
    _write_service_secret(secrets / f"{SERVICE}.secret", in_realm)


def _site(url: str) -> dict[str, object]:
    """Return the protected site; the first rule that matches path and method decides."""
    return {
        "name": "internal-service",
        "hosts": [urlsplit(url).netloc],
        "client": SITE_CLIENT,
        "rules": [
            {"name": "public", "paths": ["/public/*"], "methods": ["GET"], "anonymous": True},
            {
                "name": "machines",
                "paths": ["/api/*"],
                "clients": [DEVICE],
                "accepts": ["bearer", "certificate"],
                "boundOnly": True,
                "audiences": [SERVICE],
            },
            {"name": "people", "paths": ["/*"], "accepts": ["session"]},
        ],
    }


def _application_attributes(url: str) -> dict[str, str]:
    return {"pkce.code.challenge.method": "S256", "post.logout.redirect.uris": f"{url}/"}


def _run(*alternatives: Command) -> str:
    """Run the first command that succeeds; return what it printed."""
    printed = io.StringIO()
    for command in alternatives:
        output = io.StringIO()
        with redirect_stdout(output), redirect_stderr(printed):
            try:
                realmgate(args=list(command), prog_name="realmgate")
            except SystemExit as end:
                if not end.code:
                    return output.getvalue()
    raise PreparationFailed(printed.getvalue().strip())


def _write_service_secret(path: Path, in_realm: Command) -> None:
    """Write the secret that the database has: it may have been changed since the last start."""
    try:
        shown = _run(("client", "show", SERVICE, *in_realm, "--include-secrets"))
    except PreparationFailed as failure:
        # An administrator may have deleted the client: the demonstration says what that breaks.
        print(failure, file=sys.stderr)
        path.touch()
        return
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(f"{json.loads(shown)['secret']}\n")
    draft.replace(path)


def main() -> int:
    """Prepare the realm; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.demonstration.realm")
    parser.add_argument("state", type=Path, help="the state folder of a running stack")
    for name in ("realm", "application-url", "site-url"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    try:
        prepare(options.state, options.realm, options.application_url, options.site_url)
    except PreparationFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
