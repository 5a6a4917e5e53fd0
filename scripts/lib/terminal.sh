# shellcheck shell=bash
# What the scripts print: one line a step, colour only where somebody looks at it.

use_colour=never
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    use_colour=always
fi

paint() { # CODE TEXT
    if [[ $use_colour == always ]]; then
        printf '\e[%sm%s\e[0m' "$1" "$2"
    else
        printf '%s' "$2"
    fi
}

say() {
    printf '%s\n' "$*"
}

fail() {
    printf '%s %s\n' "$(paint 31 '✗')" "$1" >&2
    shift
    if (($#)); then
        printf '  %s\n' "$@" >&2
    fi
    exit 1
}

# Runs a command with its output in a log: a line while it runs, its duration when it is done.
step() { # TEXT LOG COMMAND...
    local text=$1 log=$2 began=$SECONDS status=0
    shift 2
    printf '  %s %s' "$(paint 2 '•')" "$text …"
    # In the background and in a group of its own, so that a signal to us is acted on at once and
    # can be passed on to all of it. Descriptor 9 is the lock of the state folder.
    set -m
    "$@" </dev/null >>"$log" 2>&1 9>&- &
    step_pid=$!
    set +m
    wait "$step_pid" || status=$?
    step_pid=
    if ((status == 0)); then
        printf ' %s\n' "$(paint 2 "$((SECONDS - began)) s")"
        return
    fi
    printf ' %s\n' "$(paint 31 'failed')"
    show_end_of "$log"
    fail "$text: failed with exit code $status"
}
step_pid=

end_step() {
    [[ -n $step_pid ]] || return 0
    printf ' %s\n' "$(paint 31 'interrupted')"
    kill -s TERM -- "-$step_pid" 2>/dev/null || true
    wait "$step_pid" 2>/dev/null || true
}

show_end_of() { # LOG [LINES]
    [[ -s $1 ]] || return 0
    printf '    the end of %s:\n' "$1" >&2
    tail -n "${2:-15}" "$1" | cut -c 1-400 | indented >&2
}

indented() {
    sed 's/^/    | /'
}
