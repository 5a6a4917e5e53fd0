// A single-page application with keycloak-js; the options of `init` are those of its query.
import Keycloak from "/keycloak.js";
import settings from "/settings.mjs";

const asked = Object.fromEntries(new URLSearchParams(location.search));
const keycloak = new Keycloak({
  url: settings.url,
  realm: settings.realm,
  clientId: settings.clients["keycloak-js"],
});

function show() {
  document.querySelector("#user").textContent = keycloak.authenticated
    ? keycloak.tokenParsed.preferred_username
    : "nobody";
}

keycloak.onAuthLogout = show;
document.querySelector("#sign-in").onclick = () => keycloak.login();
document.querySelector("#sign-out").onclick = () => keycloak.logout();
window.keycloak = keycloak;
try {
  await keycloak.init({
    enableLogging: true,
    pkceMethod: "S256",
    checkLoginIframeInterval: 1,
    silentCheckSsoRedirectUri: `${location.origin}/pages/silent-check-sso.html`,
    messageReceiveTimeout: 5000,
    ...asked,
  });
  show();
} catch (error) {
  document.querySelector("#failure").textContent = error.error ?? String(error);
}
