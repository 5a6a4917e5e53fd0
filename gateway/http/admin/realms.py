"""The rows of realms: realms themselves, their files, sessions, caches and texts, and fixed lists.

Keycloak: 7.1 realms
"""

from collections.abc import Awaitable
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.changes import RealmCaches
from gateway.admin.flows import RequiredActionAdministration
from gateway.admin.realm_files import (
    PartialExport,
    RealmCreation,
    RealmFileUseCases,
    Report,
    render_short_report,
)
from gateway.admin.realms import VIEW_REALM, Localizations, RealmListing, RealmUseCases
from gateway.admin.sessions import RealmSessions
from gateway.http.admin.operations import (
    BRIEF,
    MANAGE_REALM,
    MANAGE_USERS,
    PLAIN_TEXT,
    REALM,
    Body,
    Decided,
    Media,
    Operation,
    Query,
    Resource,
    State,
    as_caller,
    for_realm,
)
from gateway.http.admin.requests import (
    AdminRequest,
    constant,
    created_reply,
    document,
    document_reply,
    done,
    rendered_reply,
)
from gateway.http.replies import Reply


def session_operations(sessions: RealmSessions) -> tuple[Operation, ...]:
    """Return every row about the sessions of a realm."""
    rows = Resource(REALM, "Realms", VIEW_REALM, MANAGE_USERS)
    return (
        rows.post(
            "/logout-all",
            "End all sessions of the realm",
            lambda r: _nothing(sessions.log_out_all(r.acting)),
            returns="GlobalRequestResult",
            status=200,
        ),
        rows.post(
            "/push-revocation",
            "Push the `notBefore` of the realm to its clients; the gateway sends no request",
            lambda r: _nothing(sessions.push_revocation(r.acting)),
            allowed=MANAGE_REALM,
            returns="GlobalRequestResult",
            status=200,
            state=State.STORED_ONLY,
        ),
        rows.delete(
            "/sessions/{session_id}",
            "End a session",
            lambda r: done(
                sessions.end(r.acting, r.path["session_id"], offline=r.flag("isOffline"))
            ),
            query=(Query("isOffline", "boolean", "Whether it is an offline session"),),
        ),
        rows.get(
            "/client-session-stats",
            "Count the sessions of each client",
            for_realm(sessions.statistics),
            returns="[ClientSessionStats]",
        ),
    )


async def _nothing(action: Awaitable[object]) -> Reply:
    await action
    return document_reply({})


_LARGEST_REALM: Final = 32 * 1024 * 1024
"""In bytes: a realm can contain its users. nginx: admin-api.conf"""
_REALM: Final = "RealmRepresentation"
IMPORT_REPORT: Final = b"realmgate-import-report"
"""JSON: what of a document is `lost`, stored `withoutEffect`, or `needsYou`; absent for nothing."""
_TEXT: Final = (b"content-type", b"text/plain;charset=UTF-8")
_VIEW_PROVIDERS: Final = (AdminRole.VIEW_IDENTITY_PROVIDERS, AdminRole.MANAGE_IDENTITY_PROVIDERS)


def realm_operations(
    realms: RealmUseCases,
    files: RealmFileUseCases,
    caches: RealmCaches,
    actions: RequiredActionAdministration,
) -> tuple[Operation, ...]:
    """Return every row about realms."""
    return (
        *_realms(realms, files.creation),
        *_files(files),
        *_caches(caches),
        *_texts(realms.localizations),
        *_registrators(actions),
        *_fixed_lists(),
    )


def _realms(realms: RealmUseCases, creation: RealmCreation) -> tuple[Operation, ...]:
    rows = Resource("/admin/realms", "Realms", Decided.BY_USE_CASE, MANAGE_REALM)
    listing, changes, one = realms.listing, realms.changes, "/{realm}"
    unreadable = "unable to read contents from stream"
    return (
        rows.get(
            "",
            "List the realms that the caller administers",
            lambda r: document(listing.visible(r.acting, brief=r.flag("briefRepresentation"))),
            returns=f"[{_REALM}]",
            query=(BRIEF,),
        ),
        rows.post(
            "",
            "Create a realm from its representation, with all objects in it",
            lambda r: _create_realm(creation, r),
            allowed=Decided.BY_USE_CASE,
            body=Body(
                *(_REALM, Media.OBJECT, _LARGEST_REALM),
                unreadable=unreadable,
                repeated_names=True,
            ),
        ),
        rows.get(
            one,
            "Get a realm; without its settings for callers that may not view them",
            lambda r: _get_realm(listing, r),
            returns=_REALM,
            versioned=True,
        ),
        rows.put(
            one,
            "Update the settings or the name of a realm",
            as_caller(changes.update),
            body=Body(_REALM),
            versioned=True,
        ),
        rows.delete(
            one, "Delete a realm and all objects in it", as_caller(changes.remove), versioned=True
        ),
        rows.post(
            f"{one}/testSMTPConnection",
            "Test a mail server: send a mail to the address of the caller",
            as_caller(realms.mail_server_test.run),
            body=Body("object"),
            status=204,
            refuses=(500,),
        ),
    )


async def _get_realm(listing: RealmListing, request: AdminRequest) -> Reply:
    return rendered_reply(await listing.rendered(request.acting))


async def _create_realm(creation: RealmCreation, request: AdminRequest) -> Reply:
    realm, report = await creation.create(request.acting, request.body)
    return _with_report(created_reply(request, realm.name), report)


async def _import_parts(files: RealmFileUseCases, request: AdminRequest) -> Reply:
    results, report = await files.partial_import.run(request.acting, request.body)
    return _with_report(await document(_value(results)), report)


async def _value(results: object) -> object:
    return results


def _with_report(reply: Reply, report: Report) -> Reply:
    """Return the answer with the report of the import in a header; the body is Keycloak's."""
    if not report:
        return reply
    header = (IMPORT_REPORT, render_short_report(report).encode("ascii"))
    return replace(reply, headers=(*reply.headers, header))


def _files(files: RealmFileUseCases) -> tuple[Operation, ...]:
    rows = Resource(REALM, "Realms", (), MANAGE_REALM)
    return (
        rows.post(
            "/partialImport",
            "Import users, groups, clients and roles into a realm, all or none",
            lambda r: _import_parts(files, r),
            body=Body("PartialImportRepresentation", largest=_LARGEST_REALM, repeated_names=True),
            returns="PartialImportResults",
            status=200,
        ),
        rows.post(
            "/partial-export",
            "Export a realm without its users, with all secrets masked",
            lambda r: _export(files.partial_export, r),
            returns=_REALM,
            status=200,
            query=(Query("exportClients", "boolean"), Query("exportGroupsAndRoles", "boolean")),
        ),
    )


async def _export(exports: PartialExport, request: AdminRequest) -> Reply:
    clients, groups_and_roles = request.flag("exportClients"), request.flag("exportGroupsAndRoles")
    return await document(
        exports.document(request.acting, clients=clients, groups_and_roles=groups_and_roles)
    )


def _caches(caches: RealmCaches) -> tuple[Operation, ...]:
    rows = Resource(REALM, "Realms", (), MANAGE_REALM)

    def clear(cache: str) -> Operation:
        return rows.post(
            f"/{cache}",
            "Clear the caches of the realm in every gateway",
            lambda r: done(caches.clear(r.acting, cache)),
            status=204,
        )

    return clear("clear-realm-cache"), clear("clear-user-cache"), clear("clear-keys-cache")


def _texts(texts: Localizations) -> tuple[Operation, ...]:
    path = f"{REALM}/localization"
    rows = Resource(path, "Realms", Decided.ANY_BUT_IMPERSONATION, MANAGE_REALM)
    one, text = "/{locale}", "/{locale}/{key}"
    return (
        rows.get(
            "", "List the locales that have texts", for_realm(texts.locales), returns="[string]"
        ),
        rows.get(
            one,
            "Get the texts of a locale",
            lambda r: _get_texts(texts, r),
            returns="object",
            query=(Query("useRealmDefaultLocaleFallback", "boolean"),),
        ),
        rows.post(
            one, "Add or update texts of a locale", as_caller(texts.add), body=Body(), status=204
        ),
        rows.delete(one, "Delete all texts of a locale", as_caller(texts.remove)),
        rows.get(text, "Get a text", lambda r: _get_text(texts, r), returns=PLAIN_TEXT),
        rows.put(text, "Add or update a text", as_caller(texts.put), body=Body(media=Media.TEXT)),
        rows.delete(text, "Delete a text", as_caller(texts.remove_text)),
    )


async def _get_texts(texts: Localizations, request: AdminRequest) -> Reply:
    fallback = request.flag("useRealmDefaultLocaleFallback")
    return await document(texts.texts(request.realm, request.path["locale"], fallback=fallback))


async def _get_text(texts: Localizations, request: AdminRequest) -> Reply:
    found = await texts.text(request.realm, request.path["locale"], request.path["key"])
    return Reply(HTTPStatus.OK, (_TEXT,), found.encode())


def _registrators(actions: RequiredActionAdministration) -> tuple[Operation, ...]:
    rows = Resource(REALM, "Realms", VIEW_REALM, ())
    return (
        rows.get(
            "/credential-registrators",
            "List the required actions that register a credential",
            for_realm(actions.registrators),
            returns="[string]",
        ),
    )


def _fixed_lists() -> tuple[Operation, ...]:
    """Return lists that are the same in every realm."""
    rows = Resource(REALM, "Realms", VIEW_REALM, ())

    return (
        rows.get(
            "/identity-provider/instances",
            "List the identity providers of the realm: none",
            lambda _: constant([]),
            tag="Identity providers",
            allowed=_VIEW_PROVIDERS,
            returns="[IdentityProviderRepresentation]",
        ),
    )
