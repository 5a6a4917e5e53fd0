"""`realmgate doctor`: checks an installation, its nginx, and the edge as callers see it."""

from gateway.cli.doctor.command import doctor
