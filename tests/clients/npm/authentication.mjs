// Flows, required actions and components.
import { admin, names, realm, results } from "./administrator.mjs";

const flows = admin.authenticationManagement;
await flows.copyFlow({ flow: "direct grant", newName: "made" });
const flow = (await flows.getFlows()).find((each) => each.alias === "made");
results.flow = [flow.builtIn, flow.topLevel, flow.providerId];
results.sameFlow = (await flows.getFlow({ flowId: flow.id })).alias;
const executions = await flows.getExecutions({ flow: "made" });
const last = executions.filter((each) => each.level === 0).at(-1);
await flows.updateExecution({ flow: "made" }, { ...last, requirement: "DISABLED" });
results.executions = (await flows.getExecutions({ flow: "made" }))
  .filter((each) => each.level === 0)
  .map((each) => each.requirement);
await flows.deleteFlow({ flowId: flow.id });
results.noFlow = names(await flows.getFlows(), "alias").includes("made");
results.providers = names(await flows.getAuthenticatorProviders(), "id").includes(
  "direct-grant-validate-password",
);
results.clientProviders = names(await flows.getClientAuthenticatorProviders(), "id").filter((id) =>
  ["client-secret", "client-x509"].includes(id),
);

const alias = "UPDATE_PASSWORD";
const action = await flows.getRequiredActionForAlias({ alias });
await flows.updateRequiredAction({ alias }, { ...action, defaultAction: true });
results.action = (await flows.getRequiredActionForAlias({ alias })).defaultAction;
await flows.updateRequiredAction({ alias }, action);
await flows.lowerRequiredActionPriority({ alias });
await flows.raiseRequiredActionPriority({ alias });
await flows.deleteRequiredAction({ alias });
const [unregistered] = (await flows.getUnregisteredRequiredActions()).filter(
  (each) => each.providerId === alias,
);
results.unregistered = unregistered.name;
await flows.registerRequiredAction(unregistered);
results.registered = names(await flows.getRequiredActions(), "alias").includes(alias);

const { id: parentId } = await admin.realms.findOne({ realm });
const { id } = await admin.components.create({
  name: "made",
  parentId,
  providerId: "ecdsa-generated",
  providerType: "org.keycloak.keys.KeyProvider",
  config: { priority: ["50"], enabled: ["true"], active: ["true"], ecdsaEllipticCurveKey: ["P-256"] },
});
results.components = names(
  await admin.components.find({ type: "org.keycloak.keys.KeyProvider" }),
).includes("made");
const component = await admin.components.findOne({ id });
await admin.components.update({ id }, { ...component, config: { ...component.config, priority: ["51"] } });
results.priority = (await admin.components.findOne({ id })).config.priority;
results.signs = Boolean((await admin.realms.getKeys({ realm })).active.ES256);
await admin.components.del({ id });
results.gone = await admin.components.findOne({ id });
