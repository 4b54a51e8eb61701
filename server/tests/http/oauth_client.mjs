// The official TypeScript client signs in, as a program whose user has a browser; what it got goes out as JSON.
// usage: node oauth_client.mjs CLIENT_FOLDER URL BACK [DOCUMENT]
// It prints where its user is to go, and reads from stdin where the user came back to.

import { createInterface } from "node:readline/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, url, back, document] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, "dist", name)).href);
const { Client, StreamableHTTPClientTransport, auth } = await load("index.mjs");

const kept = {};
const provider = {
  redirectUrl: back,
  clientMetadata: { client_name: "a program", redirect_uris: [back] },
  clientMetadataUrl: document,
  state: () => "state of the program",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  redirectToAuthorization: (where) => console.log(String(where)),
};
const opens = async () => {
  const headers = { Authorization: `Bearer ${kept.tokens.access_token}` };
  const answer = await fetch(url, { method: "POST", headers });
  await answer.arrayBuffer();
  return answer.status !== 401;
};
const said = [await auth(provider, { serverUrl: url })];
const lines = createInterface({ input: process.stdin });
const came = new URL((await lines[Symbol.asyncIterator]().next()).value).searchParams;
lines.close();
said.push(await auth(provider, { serverUrl: url, authorizationCode: came.get("code"), iss: came.get("iss") }));
const first = kept.tokens;
const opened = [await opens()];
said.push(await auth(provider, { serverUrl: url }));
opened.push(await opens());
let written = null;
if (document === undefined) {
  const client = new Client({ name: "a program", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: provider }));
  written = await client.callTool({ name: "process_thoughts", arguments: { feelings: "glad of the garden" } });
  await client.close();
}
const renewed = first.refresh_token !== kept.tokens.refresh_token;
console.log(JSON.stringify({ said, opened, renewed, written, client: kept.client.client_id, scope: first.scope }));
