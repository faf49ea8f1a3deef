// What a run's events say, as parts of a conversation: texts, thoughts, tools, and what waits for a decision.

/** @typedef {import("./attachments.js").Attached} Attached */
/**
 * @typedef {{ kind: "text" | "thought", key: string, text: string, agent: string, isWhole?: boolean, isVoid?: boolean }} Said
 * @typedef {{ kind: "tool", key: string, name: string, given: string, result?: string, error?: string }} Used
 * @typedef {{
 *   id: string, state: string, text: string, files: Attached[], parts: (Said | Used)[], approvals: any[], message: any, error: string,
 * }} Turn
 */

/** @param {string} id of the run @param {string} text what the user said @param {string} state @param {Attached[]} files @returns {Turn} */
export function newTurn(id, text, state, files = []) {
  return { id, state, text, files, parts: [], approvals: [], message: null, error: "" };
}

/**
 * Return a turn with further events; the given one stays as it is.
 * @param {Turn} turn
 * @param {import("./api.js").RunEvent[]} events
 * @returns {Turn}
 */
export function extend(turn, events) {
  const next = { ...turn, parts: [...turn.parts] };
  for (const event of events) read(next, event);
  return next;
}

/** @param {Turn} turn @param {import("./api.js").RunEvent} event */
function read(turn, event) {
  // A part that was taken back goes when something takes its place; where its run was cancelled, nothing does.
  const isVoided = (/** @type {Said | Used} */ each) => each.kind !== "tool" && each.isVoid;
  if (event.kind !== "void" && event.kind !== "cancelled") turn.parts = turn.parts.filter((each) => !isVoided(each));
  /** @param {(said: Said) => Said[]} change @returns {(Said | Used)[]} */
  const withSaid = (change) => turn.parts.flatMap((each) => (each.kind !== "tool" && each.key === event.key ? change(each) : [each]));
  const find = () => turn.parts.findLastIndex((each) => each.kind === "tool" && each.key === event.key);
  switch (event.kind) {
    case "started": case "resumed":
      turn.state = "running";
      break;
    case "delta": case "reasoning": {
      const kind = event.kind === "delta" ? "text" : "thought";
      const last = turn.parts[turn.parts.length - 1];
      if (last && last.kind === kind && last.key === event.key) turn.parts[turn.parts.length - 1] = { ...last, text: last.text + event.text };
      else turn.parts.push({ kind, key: event.key, text: event.text, agent: event.agent ?? "" });
      break;
    }
    case "void":
      turn.parts = withSaid((each) => (each.isWhole ? [] : [{ ...each, isVoid: true }]));
      break;
    case "answered":
      turn.parts = withSaid((each) => [{ ...each, isWhole: true }]);
      break;
    case "tool_call":
      turn.parts.push({ kind: "tool", key: event.key, name: event.name, given: event.arguments });
      break;
    case "tool_result": case "tool_failed": {
      const at = find();
      if (at >= 0) turn.parts[at] = { .../** @type {Used} */ (turn.parts[at]), result: event.result, error: event.error };
      break;
    }
    case "paused":
      turn.state = "paused";
      turn.approvals = event.approvals;
      break;
    case "decided":
      turn.approvals = turn.approvals.filter((each) => each.digest !== event.digest);
      break;
    case "done": case "failed": case "cancelled":
      turn.state = event.kind;
      turn.approvals = [];
      turn.message = event.message ?? null;
      turn.error = event.error?.message ?? event.why ?? "";
  }
}
