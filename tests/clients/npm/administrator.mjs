// An administrator of all realms at work in one; `results` is what the tests read.
import KcAdminClient from "@keycloak/keycloak-admin-client";

const { SERVER_URL: baseUrl, PASSWORD: password, REALM: realmName } = process.env;

export const realm = realmName;
export const password_of_users = process.env.PASSWORD_OF_USERS;
export const admin = new KcAdminClient({ baseUrl, realmName: "master" });
await admin.auth({ username: "admin", password, grantType: "password", clientId: "admin-cli" });
admin.setConfig({ realmName });

export const results = {};
process.on("exit", () => process.stdout.write(JSON.stringify(results)));

export const names = (found, field = "name") => found.map((each) => each[field]).sort();

// How a request is refused: its status and what the client makes of the answer.
export const refusal = async (request) => {
  try {
    await request;
  } catch (error) {
    return [error.response?.status, error.message];
  }
  return null;
};

// Signs somebody in at the realm.
export const signIn = async (username, secret = password_of_users, clientId = "app") => {
  const client = new KcAdminClient({ baseUrl, realmName: realm });
  await client.auth({ username, password: secret, grantType: "password", clientId });
  return client;
};
