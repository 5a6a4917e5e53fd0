"""A play of 50 tasks by Ansible, end to end: 50 password logins, 50 changes."""

from bench.administrators import ADMIN_PASSWORD
from bench.ansible_play import TASKS, play, require_ansible
from bench.context import Bench
from bench.figures import Figure, Result
from bench.stack import Start, stack

TITLE = "A play of 50 tasks by Ansible"
HOW = (
    "ansible-playbook with community.general, as tests install it, makes 50 roles by keycloak_role"
    " through nginx, and then finds that nothing is to do. Each is a process of its own that signs"
    " in by password as admin of the realm master, whose passwords cost what a new realm's do."
    " Nearly all of the time is Python starting, so the gateway's processor time is the figure."
)


def measure(bench: Bench) -> Result:
    """Run the play twice."""
    require_ansible()
    site = bench.copy("play")
    settings: dict[str, object] = {"admin_password": ADMIN_PASSWORD}
    with stack(site, Start(settings=settings)) as target:
        first, first_cost = play(bench.workspace, target, ADMIN_PASSWORD, changed=1)
        again, again_cost = play(bench.workspace, target, ADMIN_PASSWORD, changed=0)
    return Result(
        (
            Figure(f"{TASKS} tasks that change, the whole play", first, "s"),
            Figure("a task of these, gateway's processor time", first_cost / TASKS * 1e3, "ms"),
            Figure(f"{TASKS} tasks that change nothing, the whole play", again, "s"),
            Figure("a task of these, gateway's processor time", again_cost / TASKS * 1e3, "ms"),
        ),
        HOW,
    )
