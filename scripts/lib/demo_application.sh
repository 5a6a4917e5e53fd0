# shellcheck shell=bash
# The application that a person signs in to: its client, its user, its process.
# Needs the names of scripts/run.
# shellcheck disable=SC2154

readonly application_id=demo-app person=ada

prepare_demo_application() {
    application_url=http://localhost:$demo_port
    [[ -e $state/secrets/$application_id.secret ]] && client_action=update || client_action=create
    make_secret "$state/secrets/$application_id.secret"
    # A new password each time: the realm's rules let one expire.
    rm -f "$state/secrets/$person.password"
    make_secret "$state/secrets/$person.password"
    step "Preparing the demo application" "$install_log" _register
}

# Browsers treat localhost as they treat TLS, so the application needs no certificate.
_register() {
    local fields=(
        --set name="Demo application" --set baseUrl="$application_url/"
        --set "redirectUris=[\"$application_url/callback\"]"
        --set "attributes={\"pkce.code.challenge.method\": \"S256\",
            \"post.logout.redirect.uris\": \"$application_url/\"}"
        --secret-file "$state/secrets/$application_id.secret"
    )
    local password=(--realm "$realm" --password-file "$state/secrets/$person.password")
    # The database may be an older or a newer one than the files of the secrets.
    local other=create
    [[ $client_action == update ]] || other=update
    realmgate client "$client_action" "$application_id" --realm "$realm" "${fields[@]}" ||
        realmgate client "$other" "$application_id" --realm "$realm" "${fields[@]}" || return
    if [[ $client_action == update ]] && realmgate user set-password "$person" "${password[@]}"; then
        return
    fi
    realmgate user create "$person" "${password[@]}" --email ada@example.com \
        --email-verified --first-name Ada --last-name Lovelace ||
        realmgate user set-password "$person" "${password[@]}"
}

start_demo_application() {
    ISSUER=$public_url/realms/$realm CLIENT_ID=$application_id \
        CLIENT_SECRET_FILE=$state/secrets/$application_id.secret \
        APPLICATION_URL=$application_url SSL_CERT_FILE=$state/certs/ca.crt \
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
    printf '  %-22s%s\n' "Application" "$application_url" "User" "$person" \
        "Password" "$(<"$state/secrets/$person.password")"
    say "  $(paint 2 "The browser warns of the certificate unless it trusts certs/ca.crt.")"
    say ""
}
