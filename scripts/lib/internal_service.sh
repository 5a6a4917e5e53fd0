# shellcheck shell=bash
# A service that knows nothing of OAuth, behind two lines of nginx: its server and its process.
# Needs the names of scripts/run.
# shellcheck disable=SC2154

# Every name below localhost is this machine, for browsers and curl: /etc/hosts stays as it is.
readonly site_host=app.localhost

# A host of its own: a service on the gateway's host would receive the gateway's cookies.
write_internal_service_server() {
    service_socket=$(socket_folder)/service.sock
    mkdir -p "$state/nginx/servers"
    cat >"$state/nginx/servers/internal-service.conf.new" <<SERVER
# The two lines are guard-server.conf and guard.conf: see nginx/README.md.
server {
    include realmgate/site/listen-https.conf;
    server_name $site_host;
    include realmgate/tls.conf;
    include realmgate/client-certificate-optional.conf;
    include realmgate/guard-server.conf;
    location / {
        include realmgate/guard.conf;
        proxy_pass http://unix:$service_socket;
    }
}
SERVER
    mv "$state/nginx/servers/internal-service.conf"{.new,}
}

start_internal_service() {
    setsid "$python" "$root/docs/examples/internal_service.py" "$service_socket" \
        </dev/null >"$state/logs/internal-service.log" 2>&1 &
    remember_process internal_service "$!"
    local deadline=$((SECONDS + ready_within))
    until [[ -S $service_socket ]]; do
        process_of internal_service >/dev/null ||
            stopped_early "The internal service" "$state/logs/internal-service.log"
        ((SECONDS < deadline)) || fail "The internal service was not ready in time."
        sleep 0.05
    done
}
