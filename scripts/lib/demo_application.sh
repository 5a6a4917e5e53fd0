# shellcheck shell=bash
# The application that a person signs in to: its secret, its user's password, its process.
# Needs the names of scripts/run.
# shellcheck disable=SC2154

readonly application_id=demo-app person=ada

make_demo_secrets() {
    make_secret "$state/secrets/$application_id.secret"
    # A new password each time: the realm's rules let one expire.
    rm -f "$state/secrets/$person.password"
    make_secret "$state/secrets/$person.password"
}

# Browsers treat localhost as they treat TLS, so the application needs no certificate.
start_demo_application() {
    ISSUER=$public_url/realms/$realm CLIENT_ID=$application_id \
        CLIENT_SECRET_FILE=$state/secrets/$application_id.secret \
        APPLICATION_URL=$application_url SSL_CERT_FILE=$state/certs/root.crt \
        PYTHONPATH=$root/docs/examples \
        setsid "$python" -m hypercorn --bind "127.0.0.1:$demo_port" \
        'sign_in_application:from_environment()' \
        </dev/null >"$state/logs/demo-application.log" 2>&1 &
    remember_process demo_application "$!"
    local deadline=$((SECONDS + ready_within))
    until accepts_connections "$demo_port" 2>/dev/null; do
        process_of demo_application >/dev/null ||
            stopped_early "The demo application" "$state/logs/demo-application.log"
        ((SECONDS < deadline)) || fail "The demo application was not ready in time."
        sleep 0.05
    done
}

show_demo_application() {
    say "$(paint 1 'Sign in with a browser:')" ""
    printf '  %-22s%s\n' "Application" "$application_url" "Internal service" "$site_url" \
        "User" "$person" "Password" "$(<"$state/secrets/$person.password")"
    say "  $(paint 2 "The browser warns of the certificate unless it trusts certs/root.crt.")"
    say ""
}
