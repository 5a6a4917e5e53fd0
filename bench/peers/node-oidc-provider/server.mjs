// node-oidc-provider answering client_credentials with JWT access tokens, on a unix socket behind
// the same nginx as Realmgate. The client proves itself as Realmgate's does: by the subject of its
// certificate (tls_client_auth), its tokens bound to the certificate, its key in memory.
// node server.mjs SOCKET

import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import Provider from 'oidc-provider';

const [socket] = process.argv.slice(2);
const SUBJECT = 'CN=device-1,OU=Devices,O=Realmgate Demonstration';
const RESOURCE = 'urn:bench:';

function signingKey(kind, options, alg, kid) {
  const { privateKey } = crypto.generateKeyPairSync(kind, options);
  return { ...privateKey.export({ format: 'jwk' }), alg, kid, use: 'sig' };
}

const parsed = new Map();
function certificateOf(ctx) {
  const pem = ctx.get('ssl-client-cert');
  if (!parsed.has(pem)) {
    const certificate = new crypto.X509Certificate(decodeURIComponent(pem));
    parsed.set(pem, { certificate, subject: certificate.subject.split('\n').reverse().join(',') });
  }
  return parsed.get(pem);
}

const provider = new Provider('https://localhost:8443', {
  jwks: {
    keys: [
      signingKey('rsa', { modulusLength: 2048 }, 'RS256', 'rsa'),
      signingKey('ec', { namedCurve: 'P-256' }, 'ES256', 'ec'),
    ],
  },
  clients: [
    {
      client_id: 'device',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'tls_client_auth',
      tls_client_auth_subject_dn: SUBJECT,
      tls_client_certificate_bound_access_tokens: true,
    },
  ],
  clientAuthMethods: ['tls_client_auth'],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    mTLS: {
      enabled: true,
      tlsClientAuth: true,
      certificateBoundAccessTokens: true,
      getCertificate: (ctx) => certificateOf(ctx).certificate,
      certificateAuthorized: (ctx) => ctx.get('ssl-client-verify') === 'SUCCESS',
      certificateSubjectMatches: (ctx, property, expected) =>
        property === 'tls_client_auth_subject_dn' && certificateOf(ctx).subject === expected,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => `${RESOURCE}RS256`,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => ({
        scope: '',
        audience: 'device',
        accessTokenTTL: 36000,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: resource.slice(RESOURCE.length) } },
      }),
    },
  },
});
provider.proxy = true;
provider.on('server_error', (ctx, error) => console.error(error));

process.umask(0o177);
provider.listen(socket, () => fs.writeFileSync(`${socket}.ready`, ''));
process.on('SIGTERM', () => process.exit(0));
