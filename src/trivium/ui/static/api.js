// The server: requests with the token, and streams that go on after a lost connection.
import { signal } from "@preact/signals";

/** The path where the page stands: servers below different paths of one address keep nothing of each other. */
export const PLACE = new URL(".", location.href).pathname;
const KEPT = `trivium-token${PLACE === "/" ? "" : PLACE}`;
/** The key of the drafts of this page. */
export const DRAFTS = `trivium-drafts${PLACE}`;
const RETRY_MS = [250, 500, 1000, 2000, 4000];

/** Return a token as it is used; null: it is none, for a header cannot carry it. @param {string | null} text */
function usable(text) {
  return /^[\x20-\x7e]*$/.test(text ?? "") ? text ?? "" : null;
}

/**
 * Return a storage of the browser, or one that this page alone has: to sites that may keep nothing browsers refuse theirs.
 * @param {"localStorage" | "sessionStorage"} name @returns {Pick<Storage, "getItem" | "setItem" | "removeItem">}
 */
function storage(name) {
  try {
    return window[name];
  } catch {
    const held = /** @type {Map<string, string>} */ (new Map());
    return {
      getItem: (key) => held.get(key) ?? null,
      setItem: (key, text) => void held.set(key, text),
      removeItem: (key) => void held.delete(key),
    };
  }
}

/** What outlives the tab, and what does not. */
const lasting = storage("localStorage");
export const passing = storage("sessionStorage");

/** The token; null: the server wants one, and none is known. */
export const token = signal(usable(lasting.getItem(KEPT)));
/** Whether the server answered last time. */
export const isOnline = signal(true);
/** How often something was changed here, or is known to have been: what counts runs asks again. */
export const changes = signal(0);

/** An answer that is an error: what happened, and what to do. */
export class Problem extends Error {
  /** @param {number} status @param {string} message @param {string} kind */
  constructor(status, message, kind = "") {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

/** Whether a token is kept, be it the server's or not. */
export const hasToken = () => Boolean(lasting.getItem(KEPT));

/** @param {string} text */
export function setToken(text) {
  if (text) lasting.setItem(KEPT, text);
  else lasting.removeItem(KEPT);
  token.value = usable(text);
}

/** Forget the token and the drafts. */
export function forget() {
  passing.removeItem(DRAFTS);
  setToken("");
  token.value = null;
}

addEventListener("storage", (event) => {
  if (event.key === KEPT) token.value = usable(event.newValue);
});

/** @param {Record<string, string>} [more] */
function headers(more) {
  /** @type {Record<string, string>} */
  const all = { ...more };
  if (token.value) all.authorization = `Bearer ${token.value}`;
  return all;
}

/**
 * @param {string} path of a route of the server, which is where the page stands
 * @param {RequestInit} [options]
 */
async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(`.${path}`, { cache: "no-store", ...options });
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    isOnline.value = false;
    throw new Problem(0, "The server does not answer. Is it running?");
  }
  isOnline.value = true;
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  if (response.status === 401) token.value = null;
  throw new Problem(response.status, body.error?.message ?? response.statusText, body.error?.type);
}

/**
 * Return the JSON that the server answers.
 * @param {string} path
 * @param {Record<string, string | number | undefined>} [query]
 * @param {AbortSignal} [signal]
 */
export async function get(path, query = {}, signal) {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") asked.set(name, `${value}`);
  const response = await send(`${path}?${asked}`, { headers: headers(), signal });
  return response.json();
}

/** @param {string} path @param {unknown} body */
export async function post(path, body) {
  const options = { method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify(body) };
  const answer = await (await send(path, options)).json();
  changes.value++;
  return answer;
}

/** @param {string} path @param {string} name of the file */
export async function download(path, name) {
  const blob = await (await send(path, { headers: headers() })).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @typedef {{ seq: number, kind: string, time: number, [name: string]: any }} RunEvent */

/** How many runs a page follows at once: a browser has six connections to a server, for all its tabs. */
const MOST_FOLLOWED = 2;
let followed = 0;
/** @type {(() => void)[]} */
const queue = [];

/** Return when the page is seen, and follows few enough runs that one more may be followed. */
async function turn() {
  while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
  if (followed++ >= MOST_FOLLOWED) await new Promise((done) => queue.push(() => done(null)));
}

function giveTurnBack() {
  followed--;
  queue.shift()?.();
}

/**
 * Call a function with each event of a run, from the first one on; a lost connection is taken up again. While the page is
 * not seen it holds none.
 * @param {string} id the run
 * @param {(events: RunEvent[]) => void} take called with the events that have come at once
 * @param {AbortSignal} signal
 */
export async function follow(id, take, signal) {
  let after = 0, tries = 0;
  while (!signal.aborted) {
    await turn();
    const hidden = new AbortController(), hide = () => document.hidden && hidden.abort();
    document.addEventListener("visibilitychange", hide);
    hide();
    try {
      const options = { headers: headers({ "last-event-id": `${after}` }), signal: AbortSignal.any([signal, hidden.signal]) };
      const response = await send(`/runs/${encodeURIComponent(id)}/events`, options);
      tries = 0;
      for await (const events of eventsOf(response)) {
        after = events[events.length - 1].seq;
        take(events);
        if (events.some(({ kind }) => kind === "paused" || kind === "decided")) changes.value++;
        if (["done", "failed", "cancelled"].includes(events[events.length - 1].kind)) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (hidden.signal.aborted) continue;
      if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
      isOnline.value = false;
    } finally {
      document.removeEventListener("visibilitychange", hide);
      giveTurnBack();
    }
    await new Promise((done) => setTimeout(done, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]));
  }
}

/** @param {Response} response @returns {AsyncGenerator<RunEvent[]>} */
async function* eventsOf(response) {
  const body = /** @type {ReadableStream<BufferSource>} */ (response.body);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = /** @type {string} */ (blocks.pop());
      const found = blocks.flatMap((block) => block.split("\n").filter((line) => line.startsWith("data: ")));
      if (found.length) yield found.map((line) => JSON.parse(line.slice(6)));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
