// Events of users and of administrators, lock-outs and sessions.
import { admin, names, realm, refusal, results, signIn } from "./administrator.mjs";

await admin.realms.updateConfigEvents(
  { realm },
  {
    eventsEnabled: true,
    eventsListeners: ["jboss-logging"],
    enabledEventTypes: ["LOGIN", "LOGIN_ERROR"],
    adminEventsEnabled: true,
    adminEventsDetailsEnabled: true,
  },
);
const config = await admin.realms.getConfigEvents({ realm });
results.config = [config.eventsEnabled, [...config.enabledEventTypes].sort()];

await signIn("ada");
results.wrong = (await refusal(signIn("ada", "wrong")))[0];
results.events = (await admin.realms.findEvents({ realm })).map((event) => event.type);
results.errors = (await admin.realms.findEvents({ realm, type: "LOGIN_ERROR" })).map(
  (event) => [event.type, event.error],
);
const { id } = await admin.users.create({ username: "eventful" });
const [event] = await admin.realms.findAdminEvents({ realm, operationTypes: "CREATE" });
results.adminEvent = [event.resourceType, event.resourcePath === `users/${id}`];
await admin.realms.clearEvents({ realm });
await admin.realms.clearAdminEvents({ realm });
results.cleared = await admin.realms.findEvents({ realm });
results.adminCleared = await admin.realms.findAdminEvents({ realm });

const [ada] = await admin.users.find({ username: "ada", exact: true });
await admin.realms.update(
  { realm },
  {
    bruteForceProtected: true,
    failureFactor: 2,
    waitIncrementSeconds: 600,
    quickLoginCheckMilliSeconds: 0,
  },
);
await refusal(signIn("ada", "wrong"));
await refusal(signIn("ada", "wrong"));
const { disabled, numFailures } = await admin.attackDetection.findOne({ id: ada.id });
results.locked = [disabled, numFailures];
await admin.attackDetection.del({ id: ada.id });
results.unlocked = (await admin.attackDetection.findOne({ id: ada.id })).disabled;
await admin.attackDetection.delAll();

await signIn("ada");
const [{ id: app }] = await admin.clients.find({ clientId: "app" });
const sessions = await admin.users.listSessions({ id: ada.id });
results.sessions = [names(sessions, "username")[0], sessions.length];
results.ofClient = (await admin.clients.listSessions({ id: app })).length;
results.count = await admin.clients.getSessionCount({ id: app });
results.statistics = names(await admin.realms.getClientSessionStats({ realm }), "clientId");
await admin.realms.deleteSession({ realm, session: sessions[0].id, isOffline: false });
results.oneLess = sessions.length - (await admin.users.listSessions({ id: ada.id })).length;
await signIn("ada");
await admin.users.logout({ id: ada.id });
results.loggedOut = await admin.users.listSessions({ id: ada.id });
await signIn("ada");
await admin.realms.logoutAll({ realm });
results.allLoggedOut = await admin.clients.listSessions({ id: app });
