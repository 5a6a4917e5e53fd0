// A single-page application with oidc-client-ts; one address is its start and all its callbacks.
import settings from "/settings.mjs";

const home = location.origin + location.pathname;
const query = new URLSearchParams(location.search);
const manager = new oidc.UserManager({
  authority: settings.issuer,
  client_id: settings.clients["oidc-client-ts"],
  redirect_uri: home,
  silent_redirect_uri: home,
  post_logout_redirect_uri: home,
  scope: "openid profile email",
  userStore: new oidc.WebStorageStateStore({ store: localStorage }),
  automaticSilentRenew: false,
  monitorSession: self === top && !query.has("unwatched"),
  checkSessionIntervalInSeconds: 1,
  loadUserInfo: true,
});

function show(user) {
  document.querySelector("#user").textContent = user ? user.profile.preferred_username : "nobody";
}

manager.events.addUserLoaded(show);
manager.events.addUserUnloaded(() => show(null));
manager.events.addUserSignedOut(() => manager.removeUser());
addEventListener("storage", async () => show(await manager.getUser()));
document.querySelector("#sign-in").onclick = () => manager.signinRedirect();
document.querySelector("#sign-out").onclick = () => manager.signoutRedirect();

async function start() {
  // A frame of the front-channel logout: done at the event `load`, after which it is removed.
  if (query.has("logout")) {
    const user = await manager.getUser();
    if (user?.profile.sid === query.get("sid") && settings.issuer === query.get("iss")) {
      await manager.removeUser();
    }
  } else if (query.has("code") || query.has("error")) {
    await manager.signinCallback();
  } else if (query.has("state")) {
    await manager.signoutCallback();
  }
  if (self === top) {
    history.replaceState(null, "", home);
  }
  show(await manager.getUser());
}

window.manager = manager;
start().catch((error) => {
  document.querySelector("#failure").textContent = String(error);
});
