// A client whose types are made from the server's description; what it saw goes out as JSON.
// usage: node api_client.mts URL TOKEN

import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";

declare const process: { argv: string[] };
const [url, token] = process.argv.slice(2);
const client = createClient<paths>({
  baseUrl: url,
  headers: { Authorization: `Bearer ${token}` },
});

const written = await client.POST("/api/v1/tools/add_entry", {
  body: { message: "moved the reports to DuckDB" },
});
const found = await client.POST("/api/v1/tools/recall", { body: { query: "duckdb", limit: 3 } });
// @ts-expect-error  a query is required
await client.POST("/api/v1/tools/recall", { body: { limit: 3 } });
const refused = await client.POST("/api/v1/tools/recall", { body: { query: "x", limit: 0 } });
const code: string | undefined = refused.error?.code;

console.log(
  JSON.stringify({
    ref: written.data?.ref,
    found: (found.data?.results as { ref: string }[]).map((hit) => hit.ref),
    status: refused.response.status,
    code,
  }),
);
