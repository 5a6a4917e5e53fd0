"""The rows of realms: realms, their files, sessions, caches, texts, keys and components.

Keycloak: 7.1 realms, 7.3 clients, 8.5 (KeysMetadata)
"""

from collections.abc import Awaitable
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.components import Components
from gateway.admin.flows import RequiredActionAdministration
from gateway.admin.keys import KeyComponents
from gateway.admin.realm_files import (
    RealmCreation,
    RealmFileUseCases,
    Report,
    render_short_report,
    report_repetitions,
)
from gateway.admin.realms import (
    VIEW_REALM,
    Localizations,
    RealmAdministration,
    RealmListing,
    RealmUseCases,
)
from gateway.admin.sessions import SessionAdministration
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
    WANTS_BRIEF,
    AdminRequest,
    constant,
    created_reply,
    document,
    document_reply,
    done,
    read_flag,
    rendered_reply,
)
from gateway.http.replies import Reply
from gateway.representations.json_input import LastMembers


def session_operations(sessions: SessionAdministration) -> tuple[Operation, ...]:
    """Return every row about the sessions of a realm."""
    rows = Resource(REALM, "Realms", VIEW_REALM, MANAGE_USERS)
    return (
        rows.post(
            "/logout-all",
            "End all sessions of the realm",
            as_caller(sessions.reject_sessions_of_realm, reply=_nothing),
            returns="GlobalRequestResult",
            status=200,
        ),
        rows.post(
            "/push-revocation",
            "Push the `notBefore` of the realm to its clients; the gateway sends no request",
            as_caller(sessions.push_revocation, reply=_nothing),
            allowed=MANAGE_REALM,
            returns="GlobalRequestResult",
            status=200,
            state=State.STORED_ONLY,
        ),
        rows.delete(
            "/sessions/{session_id}",
            "End a session",
            as_caller(sessions.end_session, offline=read_flag("isOffline")),
            query=(Query("isOffline", "boolean", "Whether it is an offline session"),),
        ),
        rows.get(
            "/client-session-stats",
            "Count the sessions of each client",
            for_realm(sessions.count_sessions_by_client),
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
    actions: RequiredActionAdministration,
) -> tuple[Operation, ...]:
    """Return every row about realms."""
    return (
        *_realms(realms, files.creation),
        *_files(files),
        *_caches(realms.administration),
        *_texts(realms.localizations),
        *_registrators(actions),
        *_fixed_lists(),
    )


def _realms(realms: RealmUseCases, creation: RealmCreation) -> tuple[Operation, ...]:
    rows = Resource("/admin/realms", "Realms", Decided.BY_USE_CASE, MANAGE_REALM)
    listing, administration, one = realms.listing, realms.administration, "/{realm}"
    unreadable = "unable to read contents from stream"
    return (
        rows.get(
            "",
            "List the realms that the caller administers",
            as_caller(listing.list_visible_realms, brief=WANTS_BRIEF),
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
            as_caller(administration.update_realm),
            body=Body(_REALM),
            versioned=True,
        ),
        rows.delete(
            one,
            "Delete a realm and all objects in it",
            as_caller(administration.remove_realm),
            versioned=True,
        ),
        rows.post(
            f"{one}/testSMTPConnection",
            "Test a mail server: send a mail to the address of the caller",
            as_caller(administration.test_mail_server),
            body=Body("object"),
            status=204,
            refuses=(500,),
        ),
    )


async def _get_realm(listing: RealmListing, request: AdminRequest) -> Reply:
    return rendered_reply(await listing.render_realm(request.acting))


async def _create_realm(creation: RealmCreation, request: AdminRequest) -> Reply:
    realm, report = await creation.create(request.acting, request.body)
    return _with_report(created_reply(request, realm.name), request, report)


async def _import_parts(files: RealmFileUseCases, request: AdminRequest) -> Reply:
    results, report = await files.partial_import.run(request.acting, request.body)
    return _with_report(await document(_value(results)), request, report)


async def _value(results: object) -> object:
    return results


def _with_report(reply: Reply, request: AdminRequest, report: Report) -> Reply:
    """Return the answer with the report of the import in a header; the body is Keycloak's."""
    if isinstance(request.body, LastMembers):
        report = (*report_repetitions(request.body.repetitions), *report)
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
            as_caller(
                files.partial_export.document,
                clients=read_flag("exportClients"),
                groups_and_roles=read_flag("exportGroupsAndRoles"),
            ),
            returns=_REALM,
            status=200,
            query=(Query("exportClients", "boolean"), Query("exportGroupsAndRoles", "boolean")),
        ),
    )


def _caches(realms: RealmAdministration) -> tuple[Operation, ...]:
    rows = Resource(REALM, "Realms", (), MANAGE_REALM)

    def clear(cache: str) -> Operation:
        return rows.post(
            f"/{cache}",
            "Clear the caches of the realm in every gateway",
            lambda r: done(realms.clear_caches(r.acting, cache)),
            status=204,
        )

    return clear("clear-realm-cache"), clear("clear-user-cache"), clear("clear-keys-cache")


def _texts(texts: Localizations) -> tuple[Operation, ...]:
    path = f"{REALM}/localization"
    rows = Resource(path, "Realms", Decided.ANY_BUT_IMPERSONATION, MANAGE_REALM)
    one, text = "/{locale}", "/{locale}/{key}"
    return (
        rows.get(
            "",
            "List the locales that have texts",
            for_realm(texts.list_locales),
            returns="[string]",
        ),
        rows.get(
            one,
            "Get the texts of a locale",
            for_realm(texts.get_texts, fallback=read_flag("useRealmDefaultLocaleFallback")),
            returns="object",
            query=(Query("useRealmDefaultLocaleFallback", "boolean"),),
        ),
        rows.post(
            one,
            "Add or update texts of a locale",
            as_caller(texts.add_texts),
            body=Body(),
            status=204,
        ),
        rows.delete(one, "Delete all texts of a locale", as_caller(texts.remove_texts)),
        rows.get(text, "Get a text", lambda r: _get_text(texts, r), returns=PLAIN_TEXT),
        rows.put(
            text, "Add or update a text", as_caller(texts.put_text), body=Body(media=Media.TEXT)
        ),
        rows.delete(text, "Delete a text", as_caller(texts.remove_text)),
    )


async def _get_text(texts: Localizations, request: AdminRequest) -> Reply:
    found = await texts.get_text(request.realm, request.path["locale"], request.path["key"])
    return Reply(HTTPStatus.OK, (_TEXT,), found.encode())


def _registrators(actions: RequiredActionAdministration) -> tuple[Operation, ...]:
    rows = Resource(REALM, "Realms", VIEW_REALM, ())
    return (
        rows.get(
            "/credential-registrators",
            "List the required actions that register a credential",
            for_realm(actions.list_registrators),
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


def component_operations(components: Components, keys: KeyComponents) -> tuple[Operation, ...]:
    """Return every row about components and keys."""
    rows = Resource(f"{REALM}/components", "Component", VIEW_REALM, MANAGE_REALM)
    one, schema = "/{id}", "ComponentRepresentation"
    return (
        Resource(f"{REALM}/keys", "Key", VIEW_REALM, MANAGE_REALM).get(
            "",
            "List the keys of the realm and the active key of each algorithm",
            for_realm(keys.render_metadata),
            returns="KeysMetadataRepresentation",
        ),
        rows.get(
            "",
            "List the components that match",
            for_realm(
                components.list_components,
                parent=lambda r: r.query.get("parent"),
                of_type=lambda r: r.query.get("type"),
                name=lambda r: r.query.get("name"),
            ),
            returns=f"[{schema}]",
            query=(Query("parent"), Query("type"), Query("name")),
        ),
        rows.post(
            "",
            "Create a component, such as a key provider",
            as_caller(components.create_component),
            body=Body(schema),
            refuses=(501,),
        ),
        *rows.entities(
            one,
            schema,
            gets=("Get a component", components.get_component),
            replaces=("Replace a component", components.replace_component),
            deletes=("Delete a component", components.remove_component),
        ),
        rows.get(
            f"{one}/sub-component-types",
            "List the types of components that can be created below a component",
            for_realm(components.list_types_below, of_type=lambda r: r.query.get("type")),
            returns="[ComponentTypeRepresentation]",
            query=(Query("type"),),
        ),
    )
