"""Pages at protected sites: why a request did not reach the service, and how to go on."""
