// Times, amounts and texts as people read them.

/** @param {number | null | undefined} ms milliseconds */
export function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1) return "< 1 ms";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000), min = Math.round(s / 60);  // rounded before they are divided: never "1 min 60 s"
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(min / 60)} h ${min % 60} min`;
}

/** @param {number} seconds since the epoch */
export function moment(seconds) {
  return new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/**
 * @param {number} seconds since the epoch
 * @param {number} now milliseconds since the epoch
 */
export function ago(seconds, now = Date.now()) {
  const s = Math.max(0, now / 1000 - seconds);
  if (s < 5) return "now";
  if (s < 60) return `${Math.floor(s)} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return new Date(seconds * 1000).toLocaleDateString(undefined, { dateStyle: "medium" });
}

/** @param {number | null | undefined} n */
export function count(n) {
  return n === null || n === undefined ? "" : n.toLocaleString();
}

/** @param {number | null | undefined} usd */
export function money(usd) {
  if (!usd) return "";
  if (usd < 1e-6) return "< $0.000001";
  return `$${usd < 0.00995 ? usd.toPrecision(2) : usd.toLocaleString(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** @param {unknown} value */
export function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}

/** @param {unknown} value @param {number} most */
export function oneLine(value, most = 200) {
  const text = (typeof value === "string" ? value : JSON.stringify(value) ?? "").replace(/\s+/g, " ").trim();
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** @param {string} name the name of a node */
export function toolName(name) {
  return name.startsWith("tool:") ? name.slice(5) : name;
}

/** @type {Record<string, [string, string]>} */
const STATES = {
  queued: ["○", "queued"], running: ["◐", "running"], paused: ["‖", "waiting"], done: ["✓", "done"],
  failed: ["✕", "failed"], cancelled: ["–", "cancelled"], stopped: ["–", "stopped"], killed: ["!", "broken off"],
};

/** @param {string} state @returns {[string, string]} a sign and words */
export function stateWords(state) {
  return STATES[state] ?? ["?", state];
}

/** @param {string} state */
export const isActive = (state) => state === "queued" || state === "running";
