// The ways in which the client signs in.
import KcAdminClient from "@keycloak/keycloak-admin-client";
import { admin, realm, refusal, results, signIn } from "./administrator.mjs";

const connection = { baseUrl: process.env.SERVER_URL };
const operator = new KcAdminClient({ ...connection, realmName: realm });
await operator.auth({
  grantType: "client_credentials",
  clientId: "operator",
  clientSecret: process.env.SECRET,
});
results.operator = (await operator.realms.findOne({ realm })).realm;

const again = new KcAdminClient({ ...connection, realmName: "master" });
await again.auth({
  grantType: "refresh_token",
  clientId: "admin-cli",
  refreshToken: admin.refreshToken,
});
results.refreshed = (await again.realms.findOne({ realm })).realm;

const stranger = new KcAdminClient({ ...connection, realmName: "master" });
const [status] = await refusal(
  stranger.auth({ username: "nobody", password: "x", grantType: "password", clientId: "admin-cli" }),
);
results.refused = status;

results.withoutToken = await refusal(new KcAdminClient(connection).realms.find());

// What the admin console asks first, signed in as itself.
const clientId = "security-admin-console";
const [client] = await admin.clients.find({ clientId });
await admin.clients.update({ id: client.id }, { ...client, directAccessGrantsEnabled: true });
const [{ id }] = await admin.users.find({ username: "ada", exact: true });
const [{ id: clientUniqueId }] = await admin.clients.find({ clientId: "realm-management" });
const viewer = await admin.clients.findRole({ id: clientUniqueId, roleName: "view-realm" });
await admin.users.addClientRoleMappings({ id, clientUniqueId, roles: [viewer] });
const ada = await signIn("ada", undefined, clientId);
const { userId, ...known } = await ada.whoAmI.find({ currentRealm: realm });
results.whoAmI = known;
