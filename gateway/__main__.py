"""`python -m gateway` is the command `realmgate`."""

from gateway.cli import main

main(prog_name="realmgate")
