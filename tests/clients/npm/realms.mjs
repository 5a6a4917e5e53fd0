// Realms, and what belongs to a whole realm.
import { admin, names, realm, refusal, results } from "./administrator.mjs";

const made = `${realm}-made`;
await admin.realms.del({ realm: made }).catch(() => {});
results.created = await admin.realms.create({ realm: made, enabled: true, displayName: "Made" });
results.conflict = await refusal(admin.realms.create({ realm: made }));
results.listed = names(await admin.realms.find(), "realm").includes(made);
await admin.realms.update({ realm: made }, { displayName: "Changed" });
results.displayName = (await admin.realms.findOne({ realm: made })).displayName;
await admin.realms.del({ realm: made });
results.gone = await admin.realms.findOne({ realm: made });

const { groups, clients } = await admin.realms.export({
  realm,
  exportClients: true,
  exportGroupsAndRoles: true,
});
results.exported = [names(groups), names(clients, "clientId").includes("shop")];
results.imported = await admin.realms.partialImport({
  realm,
  rep: { ifResourceExists: "SKIP", users: [{ username: "imported" }, { username: "ada" }] },
});

const { id } = await admin.groups.create({ name: "newcomers" });
await admin.realms.addDefaultGroup({ realm, id });
results.defaultGroups = names(await admin.realms.getDefaultGroups({ realm }), "path");
results.byPath = (await admin.realms.getGroupByPath({ realm, path: "newcomers" })).id === id;
await admin.realms.removeDefaultGroup({ realm, id });
results.noDefaultGroups = await admin.realms.getDefaultGroups({ realm });

const { active, keys } = await admin.realms.getKeys({ realm });
results.keys = keys.some((key) => key.kid === active.RS256 && key.status === "ACTIVE");

const text = { realm, selectedLocale: "de", key: "hello" };
await admin.realms.addLocalization(text, "Guten Tag, ä");
results.locales = await admin.realms.getRealmSpecificLocales({ realm });
results.texts = await admin.realms.getRealmLocalizationTexts({ realm, selectedLocale: "de" });
await admin.realms.deleteRealmLocalizationTexts(text);
results.noTexts = await admin.realms.getRealmLocalizationTexts({ realm, selectedLocale: "de" });

results.server = Object.keys(await admin.serverInfo.find()).sort();
await admin.cache.clearRealmCache();
await admin.cache.clearUserCache();
await admin.cache.clearKeysCache();
