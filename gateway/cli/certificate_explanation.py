"""`realmgate certs explain`: why a certificate is accepted or refused, and its token.

The command judges the certificate as a gateway would, with the same settings and stores, and
changes nothing. Exit codes: 0 accepted, 1 refused, 2 usage or bad input, 3 unreachable.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from gateway.cli.administration import LocalOperator, administer, echo_document, output_option
from gateway.cli.installation import installed_settings
from gateway.cli.output import counted, show_rows
from gateway.cli.secret_input import read_whole

if TYPE_CHECKING:
    from gateway.protocol.certificate_explanation import CertificateExplanation

_Row = tuple[str, str]
_PROXY = "has to pass it on without knowing its issuer: ssl_verify_client optional_no_ca of nginx"
"""For certificates of anchors of realms and clients, which the proxy does not know."""


@click.command(short_help="Explain why a certificate is accepted or refused.")
@click.argument("file", metavar="CERT|-", type=click.File("rb"))
@click.option(
    "--realm", metavar="NAME", help="Realm to ask. [default: the only one besides master]"
)
@click.option("--client", "client_id", metavar="CLIENT_ID", help="Client to authenticate.")
@output_option
@click.option("--json", "as_json", is_flag=True, help="Same as --output json.")
@click.pass_context
def explain(
    context: click.Context,
    /,
    file: IO[bytes],
    realm: str | None,
    client_id: str | None,
    output: str,
    *,
    as_json: bool,
) -> None:
    """Explain why a gateway accepts or refuses the first certificate of CERT, which is PEM or DER.

    Other certificates of the file count as sent with it, where the proxy of the settings passes
    them on: nginx passes the certificate alone.
    """
    from gateway.protocol.certificate_explanation import LONGEST_INPUT

    content = read_whole(file, LONGEST_INPUT, "CERT")

    async def work(operator: LocalOperator) -> "CertificateExplanation":
        from gateway.bootstrap.client_certificates import certificate_explainer, client_certificates
        from gateway.domain.ports.certificates import MalformedCertificate
        from gateway.http.realm_endpoint import realm_url

        services, settings = operator.services, installed_settings()
        name = realm or await _only_realm(operator)
        await operator.on(name)
        explainer = certificate_explainer(
            services,
            client_certificates(settings, services),
            partial(realm_url, settings.public_url),
        )
        try:
            return await explainer.explain(name, content, client_id)
        except MalformedCertificate as error:
            raise click.BadParameter(str(error), param_hint="CERT") from error

    found = administer(work)
    if as_json or output == "json":
        echo_document(found.document())
    else:
        _show(found.document())
    context.exit(0 if found.accepted else 1)


async def _only_realm(operator: LocalOperator) -> str:
    from gateway.domain.realm import MASTER

    async with operator.services.database.read() as stores:
        names = [each.name for each in await stores.realms.list_realms() if each.name != MASTER]
    if len(names) == 1:
        return names[0]
    raise click.UsageError(f"There are {len(names)} realms besides {MASTER}: give --realm.")


def _show(document: dict[str, Any]) -> None:
    decision = f"{document['decision']} by the realm {document['realm']}"
    failed = document["failedStep"]
    show_rows(
        [
            ("decision", decision),
            *([] if failed is None else [("failed", failed), ("reason", document["reason"])]),
            *([] if document["note"] is None else [("note", document["note"])]),
            *_of_proxy(document),
        ]
    )
    for title, rows in _sections(document):
        if rows:
            click.echo(f"\n{title}")
            show_rows(("", f"  {label}", value) for label, value in rows)


def _of_proxy(document: dict[str, Any]) -> Iterator[_Row]:
    """Yield that certificates of the file do not reach the gateway."""
    ignored = document["ignoredCertificates"]
    if ignored:
        further = counted(ignored, "further certificate")
        text = (
            f"{document['lookup']} passes the certificate alone: {further} of the file"
            f" {'does' if ignored == 1 else 'do'} not count; register authorities by realmgate"
            " certs authority add"
        )
        yield "proxy", text


def _sections(document: dict[str, Any]) -> Iterator[tuple[str, list[_Row]]]:
    yield "Certificate", _members(document["certificate"] or {})
    path = document["path"]
    if path is not None:
        above = path["authorities"]
        rows = [("authority", f"{each['subject']}, until {each['notAfter']}") for each in above]
        if path["anchorOf"] != "settings":
            rows.append(("proxy", _PROXY))
        yield f"Path to an anchor of the {path['anchorOf']}", rows
    yield "Revocation", [row for each in document["revocation"] for row in _revocation(each)]
    match = document["match"]
    if match is not None:
        rule, device = match["rule"], match.get("device")
        rows = [("client", match["client"]), (rule["kind"], rule.get("value", "matches"))]
        if device is not None:
            rows.append(("device", device["name"]))
            rows += [(f"{{{name}}}", value) for name, value in device["variables"].items()]
        yield "Matched rule", rows
    yield "Token that would be issued (claims, not signed)", _members(document["token"] or {})


def _revocation(finding: dict[str, Any]) -> Iterator[_Row]:
    yield finding["source"], finding["reason"] or finding["state"]
    for each in finding["lists"]:
        yield "", f"{each['issuer']}: issued {each['issued']}, next update {each['nextUpdate']}"


def _members(document: dict[str, Any]) -> list[_Row]:
    return [(name, _text(value)) for name, value in document.items() if value not in ([], "")]


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
