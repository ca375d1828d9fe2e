// What a stranger's TypeScript does with the types that openapi-typescript makes of the description; prints one JSON object.
import createClient from "openapi-fetch";
import type { paths } from "./api";

const [base, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${key}` } });

const readAll = async (batch_id: string) => {
  const items: string[] = [];
  const values: unknown[] = [];
  let after: number | undefined;
  let pages = 0;
  do {
    const { data, error } = await client.GET("/v1/batches/{batch_id}/results", { params: { path: { batch_id }, query: { limit: 4, after } } });
    if (error || typeof data === "string") throw new Error(JSON.stringify(error ?? data));
    items.push(...data.items.map(({ item_id }) => item_id));
    values.push(...data.items.map(({ result }) => (result && "value" in result ? result.value : null)));
    pages += 1;
    after = data.next ?? undefined;
  } while (after !== undefined);
  return { items, values, pages };
};

const main = async () => {
  const listed = await client.GET("/v1/batches", { params: { query: { limit: 1 } } });
  if (listed.error) throw new Error(listed.error.detail);
  const [status] = listed.data.items;
  const read = await readAll(status.batch.id);
  const unknown = await client.GET("/v1/batches/{batch_id}", { params: { path: { batch_id: "00000000" } } });
  console.log(JSON.stringify({ state: status.batch.state, ...read, unknown: unknown.error?.type }));
};

main();
