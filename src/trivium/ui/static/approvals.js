// Calls that wait for a decision.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { post } from "./api.js";
import { SentFiles } from "./attachments.js";
import { ago, asText, moment, oneLine } from "./format.js";
import { Exact } from "./values.js";

/** How long a call is shown before it can be decided on: a click may have been meant for what stood there before. */
const UNSEEN_MS = 500;

/** @typedef {{ digest: string, name: string, arguments: any, why?: string, asked?: number }} Call */
/** @typedef {{ run: any, call: Call }} Waiting */

/** @typedef {import("./app.js").About} About */

/** @param {{ paused: import("./app.js").Paused, about: About }} props */
export function Approvals({ paused, about }) {
  const { value: runs, error, ask } = paused;
  const waiting = (runs ?? []).flatMap((run) => run.approvals.map((/** @type {Call} */ call) => ({ run, call })));
  waiting.sort((one, other) => one.call.asked - other.call.asked);
  return html`<div class="stack"><h1>Approvals</h1>
    ${error ? html`<p class="bad" role="alert">${error.message}</p>` : null}
    <${Decisions} waiting=${waiting} about=${about} isLinked=${true} onDone=${ask} />
    ${!runs ? html`<p class="quiet">Loading …</p>` : waiting.length ? null
      : html`<div class="empty"><p><b>Nothing waits for you.</b></p>
        <p>${about.deciders.length ? `Calls that wait here are decided by ${about.deciders.join(", ")}.`
          : html`A tool made with <code>needs_approval=True</code> asks here before it runs.`}</p></div>`}</div>`;
}

/**
 * Calls that wait, and those that have waited here: each stays where it is, and a new one comes last, so that none is
 * decided on by a click that was meant for another.
 * @param {{ waiting: Waiting[], about: About, isLinked?: boolean, onDone: () => void }} props
 */
export function Decisions({ waiting, about, isLinked, onDone }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const met = useRef(/** @type {Map<string, Waiting>} */ (new Map()));
  const now = new Map(waiting.map((each) => [each.run.id + each.call.digest, each]));
  for (const [key, each] of now) met.current.set(key, each);
  useLayoutEffect(() => () => {  // the keyboard goes on at what has held them
    const here = /** @type {HTMLElement} */ (box.current);
    const holder = /** @type {HTMLElement | null | undefined} */ (here.parentElement?.closest("[tabindex]"));
    if (here.contains(document.activeElement)) holder?.focus({ preventScroll: true });
  }, []);
  return html`<div class="stack" ref=${box}>${[...met.current].map(([key, { run, call }]) => html`<${Decide} key=${key} run=${run}
    call=${call} about=${about} isLinked=${isLinked} isOver=${!now.has(key)} onDone=${onDone} />`)}</div>`;
}

/** @param {{ run: any, call: Call, about: About, isLinked?: boolean, isOver: boolean, onDone: () => void }} props */
function Decide({ run, call, about, isLinked, isOver, onDone }) {
  const [isRefusing, setRefusing] = useState(false);
  const [reason, setReason] = useState("");
  const [isSent, setSent] = useState(false);
  const [isNew, setNew] = useState(true);
  const [decided, setDecided] = useState("");
  const [error, setError] = useState("");
  const field = useRef(/** @type {HTMLInputElement | null} */ (null)), status = useRef(/** @type {HTMLElement | null} */ (null));
  const begun = useRef(-UNSEEN_MS);
  useEffect(() => field.current?.focus(), [isRefusing]);
  useEffect(() => {
    const timer = setTimeout(() => setNew(false), UNSEEN_MS);
    return () => clearTimeout(timer);
  }, []);
  /** @param {boolean} approved */
  const decide = async (approved) => {
    status.current?.focus({ preventScroll: true });  // the pressed button goes
    setSent(true);
    try {
      await post("/ui/decide", { id: run.id, digest: call.digest, approved, reason });
      setError("");
      setDecided(approved ? "Approved." : "Refused.");
      onDone();
    } catch (problem) {
      setError(/** @type {Error} */ (problem).message);
      setSent(false);
    }
  };
  const refuse = () => {
    begun.current = performance.now();
    setRefusing(true);
  };
  /** The field moves what stands below the pointer: a second click takes the focus from nothing. @param {MouseEvent} event */
  const keepFocus = (event) => { if (performance.now() - begun.current < UNSEEN_MS) event.preventDefault(); };
  const verdict = decided || (isOver ? "Decided elsewhere, or its run was ended." : "");
  const { deciders } = about, awaits = verdict ? "" : deciders.length ? " waits for an approver" : " waits for your decision";
  const given = Object.entries(call.arguments ?? {});
  return html`<section class=${`card ask stack${verdict ? " over" : ""}`} role="group" onMouseDownCapture=${keepFocus} aria-label=${call.name + awaits}>
    <div class="split"><h2><span class="mono"><${Exact} text=${call.name} /></span>${awaits}</h2>
      ${call.asked ? html`<span class="quiet" title=${moment(call.asked)}>asked ${ago(call.asked)}</span>` : null}</div>
    ${given.length ? html`<dl class="arguments">${given.map(([name, value]) => html`<div key=${name}><dt><${Exact} text=${name} /></dt>
      <dd><pre tabindex="0"><${Exact} text=${asText(value)} /></pre></dd></div>`)}</dl>` : html`<p class="quiet">It has no arguments.</p>`}
    ${call.why ? html`<p>${call.why}</p>` : null}
    ${isLinked ? html`<p class="quiet">${run.owner ? html`Asked for by <b>${run.owner}</b>, in ` : "In "}<a href=${`#/run/${encodeURIComponent(run.id)}`}>${run.root || run.program}</a>:
      ${" "}${oneLine(run.text, 160)}</p><${SentFiles} run=${run} />` : null}
    ${run.program === "" ? html`<p class="quiet">Its program goes on when it is resumed: <code>trivium resume ${run.id} MODULE:OBJECT</code></p>` : null}
    ${isRefusing && !verdict ? html`<label>Reason, which the model reads <input ref=${field} value=${reason} maxlength="1000"
      onInput=${(/** @type {any} */ e) => setReason(e.target.value)}
      onKeyDown=${(/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter" && !e.isComposing) decide(false); }} /></label>` : null}
    ${error && !verdict ? html`<p class="bad" role="alert">${error}</p>` : null}
    <div class="buttons" onClickCapture=${(/** @type {MouseEvent} */ e) => { if (e.detail > 1) e.stopPropagation(); }}>
      <p role="status" tabindex="-1" ref=${status}>${verdict}</p>
      ${verdict ? null : deciders.length ? html`<p class="quiet">Decided by ${deciders.join(" or ")}</p>` : isRefusing ? html`<button onClick=${() => setRefusing(false)}>Back</button>
        <button class="danger" disabled=${isSent || isNew} onClick=${() => decide(false)}>Refuse</button>`
        : html`<button disabled=${isSent} onClick=${refuse}>Refuse …</button>
        <button class="main" disabled=${isSent || isNew} onClick=${() => decide(true)}>Approve</button>`}
    </div>
  </section>`;
}
