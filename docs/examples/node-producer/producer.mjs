// Publishes turns to Mnemolog and waits for the receipt of each: sent again until it comes, recorded once.
//
//   NATS_URL=nats://juno:password@127.0.0.1:4222 TENANT=default node producer.mjs < turns.jsonl
//
// A line is one turn (docs/reference/turn-schema.md). Prints one answer a line, in the order of the turns.

import { createInterface } from "node:readline";
import { connect, headers, JSONCodec, nuid } from "nats";

const WINDOW = 256; // Turns that wait for their receipt.
const RESEND_MS = 10_000;
const GIVE_UP_MS = 60_000;

const codec = JSONCodec();
const url = new URL(process.env.NATS_URL ?? "nats://127.0.0.1:4222");
const tenant = encodeURIComponent(process.env.TENANT ?? "default").replaceAll(".", "%2E");
const user = decodeURIComponent(url.username);
const producer = user || "producer"; // The subject names who publishes: the server lets nobody else do it there.

const client = await connect({
  servers: url.host,
  user: user || undefined,
  pass: decodeURIComponent(url.password) || undefined,
  maxReconnectAttempts: -1,
});

const place = `mnemolog.receipts.${tenant}.${producer}.${nuid.next()}`;
const waiting = new Map();
client.subscribe(`${place}.*`, {
  callback: (error, message) => {
    const number = message?.subject.split(".").pop();
    if (!error) waiting.get(number)?.(codec.decode(message.data));
  },
});

function send(turn, number, attempt) {
  const h = headers();
  h.set("Nats-Msg-Id", `${place}-${number}-${attempt}`); // A new one each time: a dropped turn gets no receipt.
  h.set("Mnemolog-Reply-To", `${place}.${number}`);
  client.publish(`mnemolog.turns.${tenant}.${producer}`, codec.encode(turn), { headers: h });
}

function published(turn, number) {
  return new Promise((resolve, reject) => {
    let attempt = 0;
    const again = setInterval(() => {
      if (++attempt * RESEND_MS >= GIVE_UP_MS) done(reject, new Error("no receipt came: does the engine run?"));
      else send(turn, number, attempt);
    }, RESEND_MS);
    const done = (settle, value) => {
      clearInterval(again);
      waiting.delete(number);
      settle(value);
    };
    waiting.set(number, (answer) => done(resolve, answer));
    send(turn, number, attempt);
  });
}

const answers = [];
async function show() {
  console.log(JSON.stringify(await answers.shift()));
}

let number = 0;
for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  answers.push(published(JSON.parse(line), String(number++)));
  if (answers.length >= WINDOW) await show();
}
while (answers.length) await show();
await client.drain();
