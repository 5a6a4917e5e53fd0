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

# Without it a living process would look dead, and one of ours could not be told from a stranger.
require_process_table() {
    [[ -n $(_started_at self) ]] ||
        fail "/proc/self/stat cannot be read: mount /proc to run Realmgate here."
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

# Prints the numbers of all processes in its session, those it left behind too.
members_of() { # NAME
    local leader moment file stat fields
    { read -r leader moment <"$state/run/$1.process"; } 2>/dev/null || return 0
    # A number that was given away since has a session that is none of ours.
    [[ -n $moment && (! -e /proc/$leader || $(_started_at "$leader") == "$moment") ]] || return 0
    for file in /proc/[0-9]*/stat; do
        { read -r stat <"$file"; } 2>/dev/null || continue
        read -ra fields <<<"${stat##*)}"
        if [[ ${fields[3]} == "$leader" && ${fields[0]} != Z ]]; then
            printf '%s ' "${stat%% *}"
        fi
    done
}

# Asks a process to end, and makes it and what it left behind end when they do not in time.
end_process() { # NAME SIGNAL SECONDS
    local pid members deadline=$((SECONDS + $3))
    if pid=$(process_of "$1"); then
        kill -s "$2" "$pid" 2>/dev/null || true
    fi
    while members=$(members_of "$1") && [[ -n $members ]]; do
        read -ra members <<<"$members"
        if ((SECONDS > deadline)); then
            kill -s KILL "${members[@]}" 2>/dev/null || true
        elif ! process_of "$1" >/dev/null; then
            kill -s TERM "${members[@]}" 2>/dev/null || true
        fi
        sleep 0.05
    done
    rm -f "$state/run/$1.process"
}

# The private redis-server outlives a gateway that was killed: its data are then the next one's.
_end_redis() {
    local redis=$state/run/redis.sock
    [[ -S $redis ]] || return 0
    timeout 10 redis-cli -s "$redis" shutdown >/dev/null 2>&1 || true
}

# nginx first, so that nobody meets a closed door behind an open one.
end_all_processes() {
    end_process demo_application TERM 5
    end_process nginx TERM 5
    end_process internal_service TERM 5
    end_process gateway TERM 20
    _end_redis
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
