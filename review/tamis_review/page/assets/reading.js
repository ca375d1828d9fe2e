// The reading order: the table with the records first that a person should read next.
import { ask } from "./api.js";
import { at, calm, complain, say } from "./words.js";

const MOST = 1000; // as many as the gateway gives; whoever has read them asks again

export const offerOrder = (path, table) => {
  at("reading").hidden = false;
  at("read-next").addEventListener("click", async () => {
    calm();
    at("read-next").disabled = true;
    try {
      const order = await (await ask(`${path}/next?n=${MOST}`)).json();
      table.arrange(order.records.map((record) => record.index));
      at("next-means").textContent = order.meaning;
      const [first] = order.records;
      say(first ? `Record ${first.index + 1} is next: ${first.why}.` : order.meaning);
    } catch (error) {
      complain(error);
    } finally {
      at("read-next").disabled = false;
    }
  });
};
