// Client scopes and what belongs to them, and client policies.
import { admin, names, refusal, results } from "./administrator.mjs";

const { id } = await admin.clientScopes.create({ name: "made", protocol: "openid-connect" });
results.conflict = await refusal(
  admin.clientScopes.create({ name: "made", protocol: "openid-connect" }),
);
await admin.clientScopes.update({ id }, { name: "made", description: "Changed" });
results.scope = (await admin.clientScopes.findOne({ id })).description;
await admin.clientScopes.addProtocolMapper(
  { id },
  {
    name: "made",
    protocol: "openid-connect",
    protocolMapper: "oidc-full-name-mapper",
    config: { "access.token.claim": "true", "id.token.claim": "true" },
  },
);
const [mapper] = await admin.clientScopes.listProtocolMappers({ id });
await admin.clientScopes.updateProtocolMapper(
  { id, mapperId: mapper.id },
  { ...mapper, config: { ...mapper.config, "id.token.claim": "false" } },
);
results.mapper = (await admin.clientScopes.findProtocolMapper({ id, mapperId: mapper.id })).config["id.token.claim"];
await admin.clientScopes.delProtocolMapper({ id, mapperId: mapper.id });
results.noMappers = await admin.clientScopes.listProtocolMappers({ id });

const reader = await admin.roles.findOneByName({ name: "reader" });
await admin.clientScopes.addRealmScopeMappings({ id }, [reader]);
results.realmMappings = names(await admin.clientScopes.listRealmScopeMappings({ id }));
results.composite = names(await admin.clientScopes.listCompositeRealmScopeMappings({ id }));
await admin.clientScopes.delRealmScopeMappings({ id }, [reader]);
results.noRealmMappings = await admin.clientScopes.listRealmScopeMappings({ id });

await admin.clientScopes.addDefaultOptionalClientScope({ id });
results.optional = names(await admin.clientScopes.listDefaultOptionalClientScopes()).includes("made");
await admin.clientScopes.delDefaultOptionalClientScope({ id });
await admin.clientScopes.addDefaultClientScope({ id });
results.standard = names(await admin.clientScopes.listDefaultClientScopes()).includes("made");
await admin.clientScopes.delDefaultClientScope({ id });
await admin.clientScopes.del({ id });
results.gone = await admin.clientScopes.findOne({ id });

results.profiles = Array.isArray((await admin.clientPolicies.listProfiles({ includeGlobalProfiles: true })).profiles);
results.policies = Array.isArray((await admin.clientPolicies.listPolicies({})).policies);
