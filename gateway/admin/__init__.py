"""Administrative use cases, per resource, over the ports."""
