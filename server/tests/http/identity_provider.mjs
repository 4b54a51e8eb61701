// A real identity provider on loopback, at which anybody may register a client and sign in under any name.
// usage: node identity_provider.mjs MODULES RESOURCE; the first line that it prints is its address.

import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [modules, resource] = process.argv.slice(2);
const { Provider } = await import(
  pathToFileURL(join(modules, "oidc-provider", "lib", "index.js")).href
);
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const key = { ...privateKey.export({ format: "jwk" }), kid: "one", alg: "RS256", use: "sig" };

const server = createServer((request, response) => answer(request, response));
let answer;
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    extraTokenClaims: (_context, token) => ({ groups: ["staff", `of ${token.accountId}`] }),
    claims: { openid: ["sub", "groups"] },
    conformIdTokenClaims: false,
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, groups: ["staff", `of ${id}`] }),
    }),
    scopes: ["openid", "offline_access", "read", "write"],
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "read write",
          audience: resource,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
  answer = provider.callback();
  console.log(issuer);
});
