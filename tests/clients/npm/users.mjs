// Users, their credentials and roles.
import { admin, names, password_of_users, refusal, results, signIn } from "./administrator.mjs";

const { id } = await admin.users.create({
  username: "grace",
  email: "grace@example.test",
  firstName: "Grace",
  lastName: "Hopper",
  enabled: true,
  attributes: { department: ["compilers"] },
});
results.conflict = await refusal(admin.users.create({ username: "grace" }));
results.found = names(await admin.users.find({ search: "hopp" }), "username");
results.byAttribute = names(await admin.users.find({ q: "department:compilers" }), "username");
results.count = await admin.users.count({ username: "grace" });
await admin.users.update({ id }, { firstName: "Admiral", emailVerified: true });
const user = await admin.users.findOne({ id, userProfileMetadata: true });
results.user = [user.firstName, user.emailVerified, user.attributes, "userProfileMetadata" in user];
results.unmanaged = await admin.users.getUnmanagedAttributes({ id });
results.nobody = await admin.users.findOne({ id: "00000000-0000-0000-0000-000000000000" });

await admin.users.resetPassword({
  id,
  credential: { type: "password", value: password_of_users, temporary: false },
});
results.signedIn = Boolean((await signIn("grace")).accessToken);
const [credential] = await admin.users.getCredentials({ id });
await admin.users.updateCredentialLabel({ id, credentialId: credential.id }, "of the office");
await admin.users.moveCredentialPositionUp({ id, credentialId: credential.id });
results.credentials = (await admin.users.getCredentials({ id })).map((each) => [
  each.type,
  each.userLabel,
]);
await admin.users.deleteCredential({ id, credentialId: credential.id });
results.noCredentials = await admin.users.getCredentials({ id });

const reader = await admin.roles.findOneByName({ name: "reader" });
await admin.users.addRealmRoleMappings({ id, roles: [{ id: reader.id, name: reader.name }] });
results.realmRoles = names(await admin.users.listRealmRoleMappings({ id })).includes("reader");
results.composite = names(await admin.users.listCompositeRealmRoleMappings({ id })).includes(
  "offline_access",
);
results.available = names(await admin.users.listAvailableRealmRoleMappings({ id }));
await admin.users.delRealmRoleMappings({ id, roles: [{ id: reader.id, name: reader.name }] });
results.noRealmRoles = names(await admin.users.listRealmRoleMappings({ id })).includes("reader");

const [{ id: clientUniqueId }] = await admin.clients.find({ clientId: "shop" });
const buy = await admin.clients.findRole({ id: clientUniqueId, roleName: "buy" });
const mapping = { id, clientUniqueId, roles: [{ id: buy.id, name: buy.name }] };
await admin.users.addClientRoleMappings(mapping);
results.clientRoles = names(await admin.users.listClientRoleMappings({ id, clientUniqueId }));
results.availableClientRoles = names(
  await admin.users.listAvailableClientRoleMappings({ id, clientUniqueId }),
);
results.mappings = Object.keys((await admin.users.listRoleMappings({ id })).clientMappings);
await admin.users.delClientRoleMappings(mapping);
results.noClientRoles = await admin.users.listClientRoleMappings({ id, clientUniqueId });

const [{ id: groupId }] = await admin.groups.find({ search: "staff" });
await admin.users.addToGroup({ id, groupId });
results.groups = [names(await admin.users.listGroups({ id }), "path"), await admin.users.countGroups({ id })];
await admin.users.delFromGroup({ id, groupId });
results.noGroups = await admin.users.listGroups({ id });

const profile = await admin.users.getProfile();
await admin.users.updateProfile({
  ...profile,
  attributes: [...profile.attributes, { name: "nickname", permissions: { view: ["admin"], edit: ["admin"] } }],
});
results.profile = names((await admin.users.getProfile()).attributes).includes("nickname");
results.metadata = names((await admin.users.getProfileMetadata()).attributes).includes("nickname");

await admin.users.del({ id });
results.gone = await admin.users.findOne({ id });
