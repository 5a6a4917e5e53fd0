// Clients, their secrets, roles, mappers and scopes.
import { admin, names, realm, refusal, results } from "./administrator.mjs";

const { id } = await admin.clients.create({
  clientId: "made",
  serviceAccountsEnabled: true,
  fullScopeAllowed: false,
  redirectUris: ["https://app.test/*"],
});
results.conflict = await refusal(admin.clients.create({ clientId: "made" }));
results.found = names(await admin.clients.find({ clientId: "made" }), "clientId");
results.searched = names(await admin.clients.find({ clientId: "mad", search: true }), "clientId");
await admin.clients.update({ id }, { clientId: "made", description: "Changed" });
const client = await admin.clients.findOne({ id });
results.client = [client.description, client.redirectUris, client.serviceAccountsEnabled];
results.nowhere = await admin.clients.findOne({ id: "00000000-0000-0000-0000-000000000000" });

const { value } = await admin.clients.getClientSecret({ id });
const renewed = await admin.clients.generateNewClientSecret({ id });
results.secret = [renewed.type, renewed.value !== value];
results.sameSecret = (await admin.clients.getClientSecret({ id })).value === renewed.value;
results.registration = Boolean(
  (await admin.clients.generateRegistrationAccessToken({ id })).registrationAccessToken,
);
results.account = (await admin.clients.getServiceAccountUser({ id })).username;

results.roleName = (await admin.clients.createRole({ id, name: "audit" })).roleName;
await admin.clients.updateRole({ id, roleName: "audit" }, { name: "audit", description: "Audits" });
results.role = (await admin.clients.findRole({ id, roleName: "audit" })).description;
results.roles = names(await admin.clients.listRoles({ id }));
results.users = await admin.clients.findUsersWithRole({ id, roleName: "audit" });
await admin.clients.delRole({ id, roleName: "audit" });
results.noRole = await admin.clients.findRole({ id, roleName: "audit" });

const scopes = await admin.clientScopes.find();
const { id: clientScopeId } = scopes.find((scope) => scope.name === "phone");
await admin.clients.delOptionalClientScope({ id, clientScopeId });
await admin.clients.addDefaultClientScope({ id, clientScopeId });
results.defaultScope = names(await admin.clients.listDefaultClientScopes({ id })).includes("phone");
await admin.clients.delDefaultClientScope({ id, clientScopeId });
await admin.clients.addOptionalClientScope({ id, clientScopeId });
results.optionalScope = names(await admin.clients.listOptionalClientScopes({ id })).includes("phone");

const mapper = (name) => ({
  name,
  protocol: "openid-connect",
  protocolMapper: "oidc-hardcoded-claim-mapper",
  config: {
    "claim.name": name,
    "claim.value": "by a mapper",
    "jsonType.label": "String",
    "access.token.claim": "true",
    "id.token.claim": "true",
    "userinfo.token.claim": "true",
  },
});
await admin.clients.addProtocolMapper({ id }, mapper("one"));
await admin.clients.addMultipleProtocolMappers({ id }, [mapper("two"), mapper("three")]);
const mappers = await admin.clients.listProtocolMappers({ id });
results.mappers = names(mappers).filter((name) => ["one", "two", "three"].includes(name));
results.byProtocol = (
  await admin.clients.findProtocolMappersByProtocol({ id, protocol: "openid-connect" })
).length === mappers.length;
const one = mappers.find((each) => each.name === "one");
one.config["claim.value"] = "changed";
await admin.clients.updateProtocolMapper({ id, mapperId: one.id }, one);
results.mapper = (await admin.clients.findProtocolMapperById({ id, mapperId: one.id })).config["claim.value"];
await admin.clients.delProtocolMapper({ id, mapperId: mappers.find((each) => each.name === "two").id });
results.fewerMappers = (await admin.clients.listProtocolMappers({ id })).length === mappers.length - 1;

const [{ id: shop }] = await admin.clients.find({ clientId: "shop" });
const buy = await admin.clients.findRole({ id: shop, roleName: "buy" });
const reader = await admin.roles.findOneByName({ name: "reader" });
await admin.clients.addClientScopeMappings({ id, client: shop }, [buy]);
await admin.clients.addRealmScopeMappings({ id }, [reader]);
results.scopeMappings = [
  names(await admin.clients.listClientScopeMappings({ id, client: shop })),
  names(await admin.clients.listRealmScopeMappings({ id })),
];
const mapped = await admin.clients.listScopeMappings({ id });
results.allScopeMappings = [names(mapped.realmMappings), Object.keys(mapped.clientMappings)];
results.availableScopeMappings = names(
  await admin.clients.listAvailableClientScopeMappings({ id, client: shop }),
);

const [ada] = await admin.users.find({ username: "ada", exact: true });
const token = await admin.clients.evaluateGenerateAccessToken({ id, scope: "openid", userId: ada.id, audience: "" });
results.evaluated = [token.preferred_username, token.one, token.azp];
const told = await admin.clients.evaluateGenerateUserInfo({ id, scope: "openid", userId: ada.id });
results.userinfo = [told.email, told.one];
results.evaluatedMappers = names(
  await admin.clients.evaluateListProtocolMapper({ id, scope: "openid" }),
  "mapperName",
).includes("one");
results.granted = names(
  await admin.clients.evaluatePermission({ id, roleContainer: realm, type: "granted", scope: "openid" }),
);
await admin.clients.delClientScopeMappings({ id, client: shop }, [buy]);
await admin.clients.delRealmScopeMappings({ id }, [reader]);
results.noScopeMappings = [
  await admin.clients.listClientScopeMappings({ id, client: shop }),
  await admin.clients.listRealmScopeMappings({ id }),
];

results.installation = (
  await admin.clients.getInstallationProviders({ id, providerId: "keycloak-oidc-keycloak-json" })
).resource;
results.generated = Boolean(
  (await admin.clients.generateKey({ id, attr: "jwt.credential" })).certificate,
);
results.key = Boolean((await admin.clients.getKeyInfo({ id, attr: "jwt.credential" })).certificate);
results.sessions = [
  await admin.clients.listSessions({ id }),
  await admin.clients.getSessionCount({ id }),
  await admin.clients.getOfflineSessionCount({ id }),
];
await admin.clients.del({ id });
results.gone = await admin.clients.findOne({ id });
