"""`realmgate guard`: protected sites, and the decisions about requests to them."""

from gateway.cli.guard.command import guard
