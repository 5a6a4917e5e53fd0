// Web applications with openid-client, each of which uses the realm in another way. A path is
// "/<application>/<action>", and an answer the JSON of what the application found.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createRemoteJWKSet, exportJWK, jwtVerify } from "jose";
import * as openid from "openid-client";
import { Agent, fetch as fetchBy } from "undici";

const { ISSUER, HOME, SECRET, SERVER_PAIR, CLIENT_PAIR } = process.env;
const BACK_CHANNEL_LOGOUT = "http://schemas.openid.net/event/backchannel-logout";
const pair = (path) => ({ cert: readFileSync(`${path}.crt`), key: readFileSync(`${path}.key`) });

const key = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
const signingKey = { key: key.privateKey, kid: "of-the-application" };
const published = { ...(await exportJWK(key.publicKey)), kid: signingKey.kid, alg: "ES256", use: "sig" };

// The connection with the certificate of the application.
const dispatcher = new Agent({ connect: { ...pair(CLIENT_PAIR), ca: readFileSync(process.env.NODE_EXTRA_CA_CERTS) } });
const fetchWithCertificate = (url, options) => fetchBy(url, { ...options, dispatcher });

const plainly = (config, asked) => openid.buildAuthorizationUrl(config, asked);

async function signedAndPushed(config, asked) {
  const signed = await openid.buildAuthorizationUrlWithJAR(config, asked, signingKey);
  return openid.buildAuthorizationUrlWithPAR(config, signed.searchParams);
}

const kinds = {
  portal: { authentication: openid.ClientSecretBasic(SECRET) },
  reports: { authentication: openid.ClientSecretPost(SECRET) },
  signing: { authentication: openid.PrivateKeyJwt(signingKey), request: signedAndPushed },
  "signed-answer": { authentication: openid.ClientSecretJwt(SECRET), use: [openid.useJwtResponseMode] },
  hybrid: {
    authentication: openid.ClientSecretBasic(SECRET),
    use: [openid.useCodeIdTokenResponseType, openid.enableDetachedSignatureResponseChecks],
    asked: { response_mode: "form_post" },
  },
  bound: {
    authentication: openid.TlsClientAuth(),
    metadata: { use_mtls_endpoint_aliases: true },
    fetch: fetchWithCertificate,
  },
  terminal: { authentication: openid.None() },
};

async function configure([name, kind]) {
  const options = kind.fetch ? { [openid.customFetch]: kind.fetch } : {};
  const found = await openid.discovery(new URL(ISSUER), name, kind.metadata, kind.authentication, options);
  [openid.enableNonRepudiationChecks, ...(kind.use ?? [])].forEach((enable) => enable(found));
  return [name, found];
}

const configurations = Object.fromEntries(await Promise.all(Object.entries(kinds).map(configure)));
const realmKeys = createRemoteJWKSet(new URL(configurations.portal.serverMetadata().jwks_uri));
const started = new Map();
const sessions = new Map();
let device;

async function signIn({ name, config }) {
  const state = openid.randomState();
  const nonce = openid.randomNonce();
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  started.set(state, { pkceCodeVerifier, expectedState: state, expectedNonce: nonce });
  const { request = plainly, asked = {} } = kinds[name];
  const url = await request(config, {
    redirect_uri: `${HOME}/${name}/callback`,
    scope: "openid profile email",
    state,
    nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
    ...asked,
  });
  return { location: url.href, cookie: `${name}=${state}` };
}

async function finish({ name, config, cookie, url, body }) {
  const checks = started.get(cookie);
  started.delete(cookie);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = body ? new Request(url, { method: "POST", body, headers }) : url;
  const tokens = await openid.authorizationCodeGrant(config, answer, checks);
  return begin(name, tokens);
}

function begin(name, tokens) {
  const claims = tokens.claims();
  sessions.set(`${name} ${claims.sid}`, tokens);
  return { found: { claims, ...tokens }, cookie: `${name}=${claims.sid}` };
}

async function refresh({ name, config, session }) {
  const tokens = await openid.refreshTokenGrant(config, session.refresh_token);
  const again = await openid.refreshTokenGrant(config, session.refresh_token).catch((failure) => failure.error);
  return { ...begin(name, tokens), found: { before: session, after: tokens, again } };
}

async function receiveLogout({ name, body }) {
  const token = new URLSearchParams(body).get("logout_token");
  const checks = { issuer: ISSUER, audience: name, typ: "logout+jwt", requiredClaims: ["iat", "exp", "jti", "sub"] };
  const { payload } = await jwtVerify(token, realmKeys, checks);
  if (!payload.events[BACK_CHANNEL_LOGOUT] || "nonce" in payload) {
    throw new Error("not a logout token");
  }
  return { found: { ended: sessions.delete(`${name} ${payload.sid}`) } };
}

async function startDevice({ config }) {
  const asked = await openid.initiateDeviceAuthorization(config, { scope: "openid" });
  device = openid.pollDeviceAuthorizationGrant(config, asked);
  return { found: { url: asked.verification_uri_complete } };
}

const actions = {
  "sign-in": signIn,
  callback: finish,
  session: ({ session }) => ({ found: { claims: session.claims() } }),
  refresh,
  userinfo: async ({ config, session }) => ({
    found: await openid.fetchUserInfo(config, session.access_token, session.claims().sub),
  }),
  introspect: async ({ config, session }) => ({
    found: await openid.tokenIntrospection(config, session.access_token),
  }),
  revoke: async ({ config, session }) => {
    await openid.tokenRevocation(config, session.refresh_token);
    return { found: await openid.tokenIntrospection(config, session.access_token) };
  },
  "sign-out": ({ name, config, session }) => ({
    location: openid.buildEndSessionUrl(config, {
      id_token_hint: session.id_token,
      post_logout_redirect_uri: `${HOME}/${name}/signed-out`,
    }).href,
  }),
  "signed-out": () => ({ found: {} }),
  "backchannel-logout": receiveLogout,
  keys: () => ({ found: { keys: [published] } }),
  "start-device": startDevice,
  device: async ({ name }) => begin(name, await device),
};

async function answer(incoming) {
  const url = new URL(incoming.url, HOME);
  const [, name, action] = url.pathname.split("/");
  const body = Buffer.concat(await incoming.toArray()).toString();
  const cookies = new Map((incoming.headers.cookie ?? "").split("; ").map((one) => one.split("=")));
  const cookie = cookies.get(name);
  const session = sessions.get(`${name} ${cookie}`);
  if (!Object.hasOwn(actions, action)) {
    return { found: { error: "not found" }, status: 404 };
  }
  return actions[action]({ name, config: configurations[name], url, body, cookie, session });
}

createServer(pair(SERVER_PAIR), async (incoming, outgoing) => {
  const { found, location, cookie, status } = await answer(incoming).catch((failure) => ({
    found: { error: failure.error ?? failure.code ?? String(failure) },
    status: 400,
  }));
  outgoing.writeHead(location ? 302 : (status ?? 200), {
    "content-type": "application/json",
    ...(location && { location }),
    ...(cookie && { "set-cookie": `${cookie}; Path=/; Secure; HttpOnly; SameSite=Lax` }),
  });
  outgoing.end(JSON.stringify(found));
}).listen(Number(new URL(HOME).port), "127.0.0.1", () => console.log("ready"));
