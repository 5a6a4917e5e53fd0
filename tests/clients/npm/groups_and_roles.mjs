// Groups, and roles of the realm.
import { admin, names, refusal, results } from "./administrator.mjs";

const { id } = await admin.groups.create({ name: "crew", attributes: { deck: ["1"] } });
const child = await admin.groups.createChildGroup({ id }, { name: "watch" });
results.conflict = await refusal(admin.groups.create({ name: "crew" }));
const found = await admin.groups.findOne({ id });
results.group = [found.path, found.attributes, found.subGroupCount];
results.searched = (await admin.groups.find({ search: "watch" })).map((group) => [
  group.name,
  names(group.subGroups),
]);
results.children = names(await admin.groups.listSubGroups({ parentId: id }));
results.count = await admin.groups.count({ search: "crew" });
await admin.groups.update({ id: child.id }, { name: "night watch" });
results.renamed = (await admin.groups.findOne({ id: child.id })).path;

const [ada] = await admin.users.find({ username: "ada", exact: true });
await admin.users.addToGroup({ id: ada.id, groupId: child.id });
results.members = names(await admin.groups.listMembers({ id: child.id }), "username");

const reader = await admin.roles.findOneByName({ name: "reader" });
const roles = [{ id: reader.id, name: reader.name }];
await admin.groups.addRealmRoleMappings({ id, roles });
results.realmRoles = names(await admin.groups.listRealmRoleMappings({ id }));
results.available = names(await admin.groups.listAvailableRealmRoleMappings({ id }));
await admin.groups.delRealmRoleMappings({ id, roles });
results.noRealmRoles = await admin.groups.listRealmRoleMappings({ id });
const [{ id: clientUniqueId }] = await admin.clients.find({ clientId: "shop" });
const buy = await admin.clients.findRole({ id: clientUniqueId, roleName: "buy" });
const mapping = { id, clientUniqueId, roles: [{ id: buy.id, name: buy.name }] };
await admin.groups.addClientRoleMappings(mapping);
results.clientRoles = names(await admin.groups.listClientRoleMappings({ id, clientUniqueId }));
await admin.groups.delClientRoleMappings(mapping);
results.noClientRoles = await admin.groups.listClientRoleMappings({ id, clientUniqueId });
await admin.groups.del({ id });
results.gone = await admin.groups.findOne({ id: child.id });

results.created = await admin.roles.create({ name: "editor", attributes: { level: ["1"] } });
const editor = await admin.roles.findOneByName({ name: "editor" });
results.role = [editor.attributes, editor.composite];
await admin.roles.updateByName({ name: "editor" }, { name: "editor", description: "Edits" });
results.byId = (await admin.roles.findOneById({ id: editor.id })).description;
await admin.roles.createComposite({ roleId: editor.id }, [reader, buy]);
results.composites = names(await admin.roles.getCompositeRoles({ id: editor.id }));
results.ofRealm = names(await admin.roles.getCompositeRolesForRealm({ id: editor.id }));
results.ofClient = names(
  await admin.roles.getCompositeRolesForClient({ id: editor.id, clientId: clientUniqueId }),
);
await admin.roles.delCompositeRoles({ id: editor.id }, [reader, buy]);
results.noComposites = await admin.roles.getCompositeRoles({ id: editor.id });
await admin.users.addRealmRoleMappings({ id: ada.id, roles: [{ id: editor.id, name: "editor" }] });
results.users = names(await admin.roles.findUsersWithRole({ name: "editor" }), "username");
results.listed = names(await admin.roles.find({ search: "edit" }));
await admin.roles.delByName({ name: "editor" });
results.noRole = await admin.roles.findOneByName({ name: "editor" });
