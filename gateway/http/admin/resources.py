"""The rows of every small resource, by the declaration of its kind."""

from collections.abc import Iterator

from gateway.admin.resources import ResourceAdministration
from gateway.domain.resources import ValueT
from gateway.http.admin.operations import PAGING, REALM, Body, Operation, Query, Resource
from gateway.http.admin.requests import AdminRequest, created, document, done, entity
from gateway.http.replies import Reply

_OWNER = "client_id"
"""The placeholder of the object that a value belongs to."""


def resource_operations(resources: ResourceAdministration[ValueT]) -> Iterator[Operation]:
    """Yield the rows that the kind offers."""
    kind, texts = resources.kind, resources.kind.summaries
    path = f"{REALM}/{kind.path.format(owner=f'{{{_OWNER}}}')}"
    rows = Resource(path, kind.tag, kind.view, kind.manage)
    placeholder = kind.placeholder
    one, schema, versioned = f"/{{{placeholder}}}", kind.representation, kind.versioned
    body = Body(schema, largest=kind.largest, fields=kind.fields if kind.describes_fields else None)
    query = PAGING if kind.page_size is not None else ()
    if kind.stored.search:
        query = (Query("search"), *query)

    def key(request: AdminRequest) -> str:
        return request.path[placeholder]

    async def listed(request: AdminRequest) -> Reply:
        page = (0, None) if kind.page_size is None else request.page(kind.page_size)
        search = (request.query.get("search") or "") if kind.stored.search else ""
        found = resources.list_values(request.realm, *page, search=search, owner=_owner(request))
        return await document(found)

    yield rows.get("", texts.list, listed, returns=f"[{schema}]", query=query)
    yield rows.post(
        "",
        texts.create,
        lambda r: created(r, resources.create_value(r.acting, r.body, _owner(r))),
        body=body,
    )
    yield rows.get(
        one,
        texts.get,
        lambda r: entity(resources.get_value(r.realm, key(r), _owner(r))),
        returns=schema,
        versioned=versioned,
    )
    if texts.replace:
        yield rows.put(
            one,
            texts.replace,
            lambda r: done(resources.replace_value(r.acting, key(r), r.body, _owner(r))),
            body=body,
            versioned=versioned,
        )
    if texts.delete:
        yield rows.delete(
            one,
            texts.delete,
            lambda r: done(resources.remove_value(r.acting, key(r), _owner(r))),
            versioned=versioned,
        )


def _owner(request: AdminRequest) -> str | None:
    return request.path.get(_OWNER)
