// A client of the HTTP API. Paths, requests and answers are typed by the OpenAPI document (src/schema.ts).

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { components, paths };

/** One change of one item: ids and no text. Pass `seq` as `since` to go on after it. */
export interface Change {
  id: string;
  seq: number;
  subject: string;
  subject_id: string;
  event: "ADD" | "UPDATE" | "DELETE" | "MERGE" | "LINK" | "TTL" | "RESTORE";
  old_ref: string | null;
  new_ref: string | null;
  actor: string | null;
  agent_id: string;
  thread_id: string;
  run_id: string | null;
  ts: string;
}

export interface Options {
  /** An API key, or the token in http.token of a data directory on this machine. */
  apiKey?: string;
  /** How often a call is tried again whose answer is lost, or that the server cannot serve now. */
  retries?: number;
  /** Milliseconds for each attempt. */
  timeout?: number;
  fetch?: (request: Request) => Promise<Response>;
}

/** The server refused the request. `code` is stable; `field` names what is wrong and `fix` what to do. */
export class MnemologError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field: string,
    readonly fix: string,
  ) {
    super(message);
    this.name = "MnemologError";
  }
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
const READING = new Set(["GET", "HEAD"]);
// The server sends something every 15 seconds.
const LONGEST_SILENCE_MS = 30_000;

/** `client.GET("/v1/memories", { params: { query: { user_id: "ana" } } })` and so on. Refusals are thrown. */
export function connect(baseUrl: string, options: Options = {}): Client<paths> {
  const client = createClient<paths>({
    baseUrl: baseUrl.replace(/\/+$/, ""),
    headers: options.apiKey ? { Authorization: `Bearer ${options.apiKey.trim()}` } : {},
    fetch: (request) => persistent(request, options),
  });
  client.use({
    async onResponse({ response }) {
      if (!response.ok) throw await refusal(response);
    },
  });
  return client;
}

/**
 * The changes of a user as they happen, oldest first. Connects again after the last one when the stream breaks, or when
 * nothing came for half a minute, or for `timeout` if that is longer.
 */
export async function* watch(
  baseUrl: string,
  query: { user_id: string; agent_id?: string; since?: number; wait?: number },
  options: Options & { signal?: AbortSignal } = {},
): AsyncGenerator<Change, void, undefined> {
  const url = new URL(`${baseUrl.replace(/\/+$/, "")}/v1/changes/stream`);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const silence = Math.max(options.timeout ?? 0, LONGEST_SILENCE_MS);
  let last = "";
  for (let broken = 0; ; broken++) {
    const headers: Record<string, string> = options.apiKey ? { Authorization: `Bearer ${options.apiKey.trim()}` } : {};
    if (last) headers["Last-Event-ID"] = last;
    try {
      const request = new Request(url, { headers, signal: options.signal ?? null });
      const response = await within(silence, (options.fetch ?? fetch)(request));
      if (!response.ok || !response.body) throw await refusal(response);
      for await (const event of events(response.body, silence)) {
        last = event.id || last;
        broken = 0;
        if (event.name === "end") return;
        if (event.name === "error") throw told(response.status, JSON.parse(event.data));
        if (event.name === "change") yield JSON.parse(event.data) as Change;
      }
    } catch (error) {
      const final = error instanceof MnemologError && ![429, 502, 503].includes(error.status);
      if (final || options.signal?.aborted || broken >= (options.retries ?? 2)) throw error;
    }
    await pause(broken);
  }
}

/** Each write has one idempotency key for all its attempts, so that it is made once. */
async function persistent(request: Request, options: Options): Promise<Response> {
  const headers = new Headers(request.headers);
  if (!READING.has(request.method) && !headers.has("Idempotency-Key")) {
    headers.set("Idempotency-Key", crypto.randomUUID());
  }
  const body = READING.has(request.method) ? null : await request.arrayBuffer();
  for (let attempt = 0; ; attempt++) {
    const last = attempt >= (options.retries ?? 2);
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(options.timeout ?? 60_000)]);
    const again = new Request(request.url, { method: request.method, headers, body, signal, redirect: "manual" });
    try {
      const response = await (options.fetch ?? fetch)(again);
      const wait = Number(response.headers.get("Retry-After") ?? 0) * 1000;
      if (last || ![429, 502, 503].includes(response.status) || wait > LONGEST_PAUSE_MS) return response;
      await response.body?.cancel();
      await pause(attempt, wait);
    } catch (error) {
      if (last || request.signal.aborted) throw error;
      await pause(attempt);
    }
  }
}

function pause(attempt: number, least = 0): Promise<void> {
  const milliseconds = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
  return new Promise((resolve) => setTimeout(resolve, Math.max(milliseconds, least)));
}

async function within<T>(milliseconds: number, awaited: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came within ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([awaited, late]).finally(() => clearTimeout(timer));
}

async function refusal(response: Response): Promise<MnemologError> {
  const answer = await response
    .clone()
    .json()
    .catch(() => null);
  return told(response.status, answer?.error ?? {});
}

function told(status: number, error: Partial<components["schemas"]["Problem"]>): MnemologError {
  const message = error.message ?? `status ${status}, and no answer of Mnemolog`;
  return new MnemologError(status, error.code ?? "server_failed", message, error.field ?? "", error.fix ?? "");
}

interface ServerEvent {
  id: string;
  name: string;
  data: string;
}

/** The server sends one line for each field of an event, and an empty one after it. */
async function* events(body: ReadableStream<Uint8Array>, silence: number): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await within(silence, reader.read());
      if (done) return;
      const frames = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) yield parsed(frame);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parsed(frame: string): ServerEvent {
  const fields = new Map(frame.split("\n").map((line) => [line.split(": ", 1)[0] ?? "", line.replace(/^\w*: /, "")]));
  return { id: fields.get("id") ?? "", name: fields.get("event") ?? "", data: fields.get("data") ?? "" };
}
