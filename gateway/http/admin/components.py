"""The rows of components and keys. Keycloak: 7.3 clients, 8.5 (KeysMetadata)."""

from gateway.admin.components import Components
from gateway.admin.keys import KeyMetadata
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import MANAGE_REALM, REALM, Body, Operation, Query, Resource
from gateway.http.admin.requests import AdminRequest, created, document, done, entity
from gateway.http.replies import Reply


def component_operations(components: Components, keys: KeyMetadata) -> tuple[Operation, ...]:
    """Return every row about components and keys."""
    rows = Resource(REALM, "Component", VIEW_REALM, MANAGE_REALM)
    every, one, schema = "/components", "/components/{id}", "ComponentRepresentation"
    return (
        rows.get(
            "/keys",
            "List the keys of the realm and the active key of each algorithm",
            lambda r: document(keys.of(r.realm)),
            tag="Key",
            returns="KeysMetadataRepresentation",
        ),
        rows.get(
            every,
            "List the components that match",
            lambda r: _list_components(components, r),
            returns=f"[{schema}]",
            query=(Query("parent"), Query("type"), Query("name")),
        ),
        rows.post(
            every,
            "Create a component, such as a key provider",
            lambda r: created(r, components.create(r.acting, r.body)),
            body=Body(schema),
            refuses=(501,),
        ),
        rows.get(
            one,
            "Get a component",
            lambda r: entity(components.one(r.realm, r.path["id"])),
            returns=schema,
            versioned=True,
        ),
        rows.put(
            one,
            "Replace a component",
            lambda r: done(components.replace(r.acting, r.path["id"], r.body)),
            body=Body(schema),
            versioned=True,
        ),
        rows.delete(
            one,
            "Delete a component",
            lambda r: done(components.remove(r.acting, r.path["id"])),
            versioned=True,
        ),
        rows.get(
            f"{one}/sub-component-types",
            "List the types of components that can be created below a component",
            lambda r: document(components.below(r.realm, r.path["id"], r.query.get("type"))),
            returns="[ComponentTypeRepresentation]",
            query=(Query("type"),),
        ),
    )


async def _list_components(components: Components, request: AdminRequest) -> Reply:
    parent, of_type, name = (request.query.get(each) for each in ("parent", "type", "name"))
    return await document(
        components.matching(request.realm, parent=parent, of_type=of_type, name=name)
    )
