"""The rows of components and keys. Keycloak: 7.3 clients, 8.5 (KeysMetadata)."""

from gateway.admin.components import Components
from gateway.admin.keys import KeyMetadata
from gateway.admin.realms import VIEW_REALM
from gateway.http.admin.operations import (
    MANAGE_REALM,
    REALM,
    Body,
    Operation,
    Query,
    Resource,
    as_caller,
    for_realm,
)


def component_operations(components: Components, keys: KeyMetadata) -> tuple[Operation, ...]:
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
