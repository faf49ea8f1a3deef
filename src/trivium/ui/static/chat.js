// A conversation: each turn is a run, of which the events are shown as they come.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { DRAFTS, follow, get, isOnline, passing, post } from "./api.js";
import { ago, asText, isActive, oneLine, stateWords } from "./format.js";
import { Decisions } from "./approvals.js";
import { Attachment, SentFiles, size, sizeOf, useFiles } from "./attachments.js";
import { Answer } from "./citations.js";
import { useAsked } from "./hooks.js";
import { Markdown } from "./markdown.js";
import { State } from "./run.js";
import { extend, newTurn } from "./transcript.js";
import { Exact } from "./values.js";

/** @typedef {import("./transcript.js").Turn} Turn */
/** @typedef {import("./attachments.js").Attached} Attached */
/** @typedef {{ id: string, text: string, state: string, files: Attached[], ended?: number | null }} Said */

/** A message that is sent, until its answer comes. @typedef {{ message: string | { content: string, files: Attached[] }, model: string, session_id: string, request_id: string }} Sent */

/** @param {number} words */
const newId = (words) => Array.from(crypto.getRandomValues(new Uint32Array(words)), (each) => each.toString(16)).join("-");

/** How many turns are shown at first, and how many more where earlier ones are wanted. */
const PAGE = 30;

/** @param {{ session: string, about: import("./app.js").About }} props */
export function Chat({ session, about }) {
  const [most, setMost] = useState(PAGE);
  const [turns, setTurns] = useState(/** @type {Turn[] | null} */ (session ? null : []));
  const [program, setProgram] = useState(about.served[0].name);
  const [error, setError] = useState(/** @type {import("./api.js").Problem | null} */ (null));
  const unsure = useRef(/** @type {Sent | null} */ (null));
  const control = useRef(new AbortController()), met = useRef(/** @type {Set<string>} */ (new Set()));

  /** @param {Said} run */
  const watch = async ({ id, ended }) => {
    /** @type {import("./api.js").RunEvent[][]} */
    const found = [];
    const show = (/** @type {import("./api.js").RunEvent[]} */ events) => setTurns((known) =>
      (known ?? []).map((each) => (each.id === id ? extend(each, events) : each)));
    try {
      await follow(id, (events) => (ended ? found.push(events) : show(events)), control.current.signal);
      if (ended) show(found.flat());  // at once: on its way through them it would seem to be under way
    } catch (problem) {
      setError(/** @type {import("./api.js").Problem} */ (problem));
    }
  };

  /** Show runs that are not shown yet, whichever tab they were begun in. @param {Said[]} runs */
  const meet = (runs) => {
    const unknown = runs.filter(({ id }) => !met.current.has(id));
    const earlier = unknown.slice(0, Math.max(0, runs.findIndex(({ id }) => met.current.has(id))));  // than those shown
    const made = unknown.map(({ id, text, state, files }) => newTurn(id, text, state, files));
    setTurns((known) => (made.length || !known ? [...made.slice(0, earlier.length), ...known ?? [], ...made.slice(earlier.length)] : known));
    // Few are followed at once: the one under way, then what has been said, the end of the conversation first.
    const [underWay, ...others] = unknown.filter(({ ended }) => !ended);
    for (const run of [underWay, ...unknown.filter(({ ended }) => ended).reverse(), ...others]) {
      if (!run) continue;
      met.current.add(run.id);
      watch(run);
    }
  };
  const { value: hasEarlier, error: problem } = useAsked(async (signal) => {
    if (!session) return false;
    const { runs, more } = await get("/ui/runs", { session, limit: most }, signal);
    if (runs.length) setProgram(runs[0].program);
    meet(runs.reverse());
    return more;
  }, [session, most], 3000);
  useEffect(() => () => control.current.abort(), []);

  /** @param {string} text @param {Attached[]} files */
  const say = async (text, files) => {
    setError(null);
    const message = files.length ? { content: text, files } : text;
    const before = unsure.current, isAgain = JSON.stringify(before?.message) === JSON.stringify(message);
    // What is sent again, and which the server has already, is the same run.
    const sent = before && isAgain ? before : { message, model: program, session_id: session || `chat-${newId(1)}`, request_id: newId(4) };
    unsure.current = sent;
    const named = sent.session_id;
    try {
      const run = await post("/runs", sent);
      unsure.current = null;
      if (!session) {
        keepDraft(named, draftOf(""));  // what has been typed since
        keepDraft("", "");
        location.hash = `#/chat/${encodeURIComponent(named)}`;
        return true;
      }
      meet([{ id: run.id, text, state: run.state, files }]);
      return true;
    } catch (problem) {
      setError(/** @type {import("./api.js").Problem} */ (problem));
      return false;
    }
  };
  const current = turns?.find(({ state }) => isActive(state) || state === "paused") ?? null;  // those behind it wait their turn
  const stop = () => current && post(`/runs/${encodeURIComponent(current.id)}/cancel`, {}).catch(setError);
  useEffect(() => setError(null), [current?.id, current?.state]);
  const shown = error && (error.status || !isOnline.value) ? error : problem;
  return html`<div class="chat">
    <div class="split">
      <h1>${session ? `Chat with ${program}` : "Chat"}</h1>
      <div class="buttons">
        ${session || about.served.length < 2 ? null : html`<label>Talk to <select value=${program}
          onChange=${(/** @type {any} */ e) => setProgram(e.target.value)}>
          ${about.served.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`}
        ${session ? html`<a class="button" href="#/chat">New conversation</a>` : null}
      </div>
    </div>
    <${Turns} turns=${turns} current=${current} program=${program} about=${about}
      onEarlier=${hasEarlier ? () => setMost((turns?.length ?? 0) + PAGE) : null} />
    ${shown ? html`<p class="bad" role="alert">${shown.message}</p>` : null}
    <${Composer} session=${session} maxBytes=${about.max_bytes} isReady=${turns !== null} onSay=${say} onStop=${stop} running=${current} />
  </div>`;
}

/**
 * @param {{
 *   turns: Turn[] | null, current: Turn | null, program: string, about: import("./app.js").About, onEarlier: (() => void) | null,
 * }} props
 */
function Turns({ turns, current, program, about, onEarlier }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const isAtEnd = useRef(true), before = useRef(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [turns]);
  const onScroll = () => {  // comes late: what has been added since does not mean that the user has left the end
    const { scrollHeight, scrollTop, clientHeight } = /** @type {HTMLDivElement} */ (box.current);
    if (scrollHeight - scrollTop - clientHeight < 60) isAtEnd.current = true;
    else if (scrollTop < before.current) isAtEnd.current = false;
    before.current = scrollTop;
  };
  const showEarlier = () => {  // browsers keep what is seen where it is, but for the very beginning
    /** @type {HTMLDivElement} */ (box.current).scrollTop ||= 1;
    onEarlier?.();
  };
  return html`<div class="turns" ref=${box} onScroll=${onScroll} tabindex="0" role="log" aria-label="Conversation">
    ${onEarlier ? html`<button class="plain" onClick=${showEarlier}>Show earlier</button>` : null}
    ${!turns ? html`<p class="quiet">Loading …</p>` : turns.length ? turns.map((turn) => html`<${OneTurn} key=${turn.id} turn=${turn}
      state=${isActive(turn.state) && turn !== current ? "queued" : turn.state} program=${program} about=${about} />`)
      : html`<div class="empty"><p>Say something to <b>${program}</b>. Each answer is a run that you can look into.</p></div>
        <${Earlier} />`}
  </div>`;
}

/** The latest conversations. */
function Earlier() {
  const { value } = useAsked(() => get("/ui/runs", { limit: 100 }), []);
  /** @type {Map<string, any>} */
  const found = new Map();
  for (const run of value?.runs ?? []) if (run.program && !found.has(run.session)) found.set(run.session, run);
  return found.size ? html`<section class="stack earlier"><h2>Earlier conversations</h2><ul class="picks">
    ${[...found.values()].slice(0, 10).map((run) => html`<li key=${run.session}><a href=${`#/chat/${encodeURIComponent(run.session)}`}>
      ${oneLine(run.text, 80) || run.session}</a> <span class="quiet">${run.program} · ${ago(run.started)}</span>${" "}
      ${run.state === "done" ? null : html`<${State} state=${run.state} />`}</li>`)}</ul></section>` : null;
}

/** @typedef {{ turn: Turn, state: string, program: string, about: import("./app.js").About }} TurnProps */

/** A turn, which is made anew when it has changed, and not when another one has. @param {TurnProps} props */
const OneTurn = (props) => useMemo(() => turnOf(props), [props.turn, props.state, props.program, props.about]);

/** @param {TurnProps} props */
function turnOf({ turn, state, program, about }) {
  const last = turn.parts.findLast((each) => each.kind === "text");
  const said = turn.message?.content;
  const isSaid = last?.kind === "text" && last.text === said && !turn.message.attachments?.length;
  const isWhole = said !== undefined && said !== null && !isSaid;  // the message tells it better than its pieces
  const isComing = isActive(state);  // a text is read to who listens when it is complete: then its element is made anew
  return html`<div class="turn">
    <div class="user"><span class="hidden">You: </span>${turn.text ? html`<pre>${turn.text}</pre>` : null}
      <${SentFiles} run=${turn} /></div>
    <p class="quiet small" aria-live="off"><span class="hidden">${program}: </span><a href=${`#/run/${encodeURIComponent(turn.id)}`}>Look into this run</a>${" "}<${State} state=${state} /></p>
    <div class="agent stack">
      ${state === "running" && !turn.parts.length ? html`<p class="dots" role="img" aria-label="thinking">···</p>` : null}
      ${turn.parts.map((part, at) => part.kind === "tool" ? html`<${Tool} key=${at} part=${part} state=${turn.state} />`
        : part.kind === "thought" ? html`<details key=${at}><summary>Thoughts</summary><pre>${part.text}</pre></details>`
        : isWhole && part === last ? null
        : html`<div key=${`${at}${isComing}`} aria-live=${isComing ? "off" : undefined}><${Markdown} text=${part.text} />
          ${state === "cancelled" && !part.isWhole ? html`<p class="quiet small">– stopped here</p>` : null}</div>`)}
      ${isWhole ? html`<${Answer} message=${turn.message} runId=${turn.id} inspects=${about.inspects} />` : null}
      ${turn.approvals.length ? html`<${Decisions} waiting=${turn.approvals.map((call) => ({ run: { id: turn.id, program: "x" }, call }))}
        about=${about} onDone=${() => {}} />` : null}
      ${!turn.error ? null : state === "cancelled" ? html`<p class="quiet">${turn.error}</p>` : html`<p class="bad" role="alert">${turn.error}${about.inspects ? ". Look into this run to see where." : ""}</p>`}
    </div>
  </div>`;
}

/** @param {{ part: import("./transcript.js").Used, state: string }} props */
function Tool({ part, state }) {
  const [sign, words] = stateWords(part.error ? "failed" : part.result !== undefined ? "done" : isActive(state) || state === "paused" ? state : "stopped");
  return html`<details class="tool"><summary><span aria-hidden="true">${sign}</span><span class="hidden">${words}</span> <b>${part.name}</b> <code><${Exact} text=${oneLine(part.given, 80)} /></code></summary>
    <h3>Arguments</h3><pre tabindex="0"><${Exact} text=${asText(part.given)} /></pre>
    ${part.result !== undefined ? html`<h3>Result</h3><pre tabindex="0">${asText(part.result)}</pre>` : null}
    ${part.error ? html`<p class="bad">${part.error}</p>` : null}</details>`;
}

const drafts = () => ({ __proto__: null, ...JSON.parse(passing.getItem(DRAFTS) ?? "{}") });

/** Return the draft of a conversation, which outlives its view and a reload. @param {string} session */
const draftOf = (session) => drafts()[session] ?? "";

/** @param {string} session @param {string} text */
function keepDraft(session, text) {
  try {
    passing.setItem(DRAFTS, JSON.stringify({ ...drafts(), [session]: text }));
  } catch {
    // The browser has no room for a text of megabytes: it stays in its field alone.
  }
}

/**
 * @param {{
 *   session: string, maxBytes: number, isReady: boolean, onSay: (text: string, files: Attached[]) => Promise<boolean>,
 *   onStop: () => void, running: Turn | null,
 * }} props
 */
function Composer({ session, maxBytes, isReady, onSay, onStop, running }) {
  const [text, setText] = useState(() => draftOf(session));
  const [isSending, setSending] = useState(false);
  const { files, setFiles, take, problem, most } = useFiles(maxBytes);
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null)), picker = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  /** @param {string} text */
  const write = (text) => {
    setText(text);
    keepDraft(session, text);
  };
  const canSend = (text.trim() || files.length) && !isSending && isReady;
  const send = async () => {
    if (!canSend) return;
    setSending(true);
    write("");
    setFiles([]);
    field.current?.focus();  // the pressed button can do nothing now
    if (!await onSay(text, files)) {
      write([text, draftOf(session)].filter(Boolean).join("\n"));
      setFiles((since) => [...files, ...since]);
    }
    setSending(false);
  };
  /** Stop a run: by a double click one, and not that behind it too. @param {MouseEvent} event */
  const halt = (event) => {
    field.current?.focus();
    if (event.detail < 2) onStop();
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  };
  return html`<form class="composer" onSubmit=${(/** @type {Event} */ e) => { e.preventDefault(); send(); }}>
    ${problem ? html`<p class="bad" role="alert">${problem}</p>` : null}
    ${files.length ? html`<ul class="files" aria-label="Files to send">${files.map((file, at) => html`<${Attachment} key=${file} file=${file}>
      <button type="button" class="plain" aria-label=${`Remove ${file.filename}`} onClick=${() => { setFiles(files.toSpliced(at, 1)); field.current?.focus(); }}>×</button><//>`)}
      <li class="quiet small">${size(sizeOf(files))} of ${size(most)}</li></ul>` : null}
    <input type="file" multiple hidden ref=${picker} onChange=${(/** @type {any} */ e) => { take(e.target).then(() => { e.target.value = ""; }); field.current?.focus(); }} />
    <button type="button" class="attach" aria-label="Attach files" title=${`Attach files, up to ${size(most)} together; or paste or drop them`}
      onClick=${() => picker.current?.click()}>+</button>
    <textarea rows="2" ref=${field} aria-label="Message" placeholder=${running?.state === "paused" ? "It waits for a decision; Stop ends the run" : "Message (Enter sends, Shift+Enter is a new line)"} value=${text}
      onInput=${(/** @type {any} */ e) => write(e.target.value)} onKeyDown=${onKey}
      onPaste=${(/** @type {ClipboardEvent} */ e) => { if (e.clipboardData?.files.length && !e.clipboardData.types.includes("text/plain")) { e.preventDefault(); take(e.clipboardData); } }}></textarea>
    ${running ? html`<button type="button" class="danger" onClick=${halt}>Stop</button>` : null}
    <button class="main" disabled=${!canSend}>Send</button>
  </form>`;
}
