# shellcheck shell=bash
# The processes of one state folder. A process is remembered with the moment it started, so that
# a number that the system gave to somebody else since is never mistaken for ours.
# `state` is the state folder.
# shellcheck disable=SC2154

_started_at() { # PID
    local stat fields
    { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
    # The name in brackets may hold anything; what follows are plain fields, the state first.
    read -ra fields <<<"${stat##*)}"
    [[ ${fields[0]} != Z ]] && printf '%s' "${fields[19]}"
}

remember_process() { # NAME PID
    printf '%s %s\n' "$2" "$(_started_at "$2")" >"$state/run/$1.process"
}

# Prints the process's number; fails when it is gone.
process_of() { # NAME
    local pid moment
    { read -r pid moment <"$state/run/$1.process"; } 2>/dev/null || return 1
    [[ -n $moment && $(_started_at "$pid") == "$moment" ]] && printf '%s' "$pid"
}

# Asks a process to end, and makes it when it does not in time.
end_process() { # NAME SIGNAL SECONDS
    local pid deadline=$((SECONDS + $3))
    if pid=$(process_of "$1"); then
        kill -s "$2" "$pid" 2>/dev/null || true
        while process_of "$1" >/dev/null; do
            if ((SECONDS > deadline)); then
                kill -s KILL "$pid" 2>/dev/null || true
            fi
            sleep 0.05
        done
    fi
    rm -f "$state/run/$1.process"
}

# nginx first, so that nobody meets a closed door behind an open one.
end_all_processes() {
    end_process nginx TERM 5
    end_process gateway TERM 20
    ((EUID != 0)) || rm -rf "$(socket_folder)"
    rm -f "$state/run.env"
}

# The folder of the gateway's socket. root's nginx hands its workers to www-data, who may not be
# able to enter the state folder (below /root, say): its group gets a folder of its own.
socket_folder() {
    if ((EUID == 0)); then
        printf '/run/realmgate/%s' "$(printf '%s' "$state" | sha256sum | cut -c 1-16)"
    else
        printf '%s/run' "$state"
    fi
}
