// Calls that wait for a decision.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { get, post } from "./api.js";
import { ago, asText, moment, oneLine } from "./format.js";
import { useAsked } from "./hooks.js";
import { Exact } from "./values.js";

/** @param {{ onCount: (n: number) => void }} props */
export function Approvals({ onCount }) {
  const [decided, setDecided] = useState(/** @type {any} */ (null));
  const { value: runs, error, ask } = useAsked(async () => /** @type {any[]} */ ((await get("/ui/approvals")).runs), [], 2000);
  useEffect(() => { if (runs) onCount(runs.length); }, [runs]);
  return html`<div class="stack"><h1>Approvals</h1>
    ${error ? html`<p class="bad" role="alert">${error.message}</p>` : null}
    <p role="status" hidden=${!decided}>${decided ? html`${decided.approved ? "Approved" : "Refused"}: <b class="mono">${decided.name}</b>.
      ${" "}<a href=${`#/run/${encodeURIComponent(decided.run)}`}>See how the run goes on</a>` : null}</p>
    ${!runs ? html`<p class="quiet">Loading …</p>` : runs.length ? runs.flatMap((run) => run.approvals.map((/** @type {any} */ call) =>
      html`<${Decide} key=${run.id + call.digest} run=${run} call=${call} isLinked=${true}
        onDone=${(/** @type {boolean} */ approved) => { setDecided({ run: run.id, name: call.name, approved }); ask(); }} />`))
      : html`<div class="empty"><p><b>Nothing waits for you.</b></p>
        <p>A tool made with <code>needs_approval=True</code> asks here before it runs.</p></div>`}</div>`;
}

/**
 * @param {{ run: any, call: { digest: string, name: string, arguments: any, why?: string, asked?: number }, isLinked?: boolean,
 *   onDone: (approved: boolean) => void }} props
 */
export function Decide({ run, call, isLinked, onDone }) {
  const [isRefusing, setRefusing] = useState(false);
  const [reason, setReason] = useState("");
  const [isSent, setSent] = useState(false);
  const [error, setError] = useState("");
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.focus(), [isRefusing]);
  /** @param {boolean} approved */
  const decide = async (approved) => {
    setSent(true);
    try {
      await post("/ui/decide", { id: run.id, digest: call.digest, approved, reason });
      setError("");
      onDone(approved);
    } catch (problem) {
      setError(/** @type {Error} */ (problem).message);
      setSent(false);
    }
  };
  const given = Object.entries(call.arguments ?? {});
  return html`<section class="card ask stack" role="group" aria-label=${`${call.name} waits for your decision`}>
    <div class="split"><h2><span class="mono"><${Exact} text=${call.name} /></span> waits for your decision</h2>
      ${call.asked ? html`<span class="quiet" title=${moment(call.asked)}>asked ${ago(call.asked)}</span>` : null}</div>
    ${given.length ? html`<dl class="arguments">${given.map(([name, value]) => html`<div key=${name}><dt><${Exact} text=${name} /></dt>
      <dd><pre tabindex="0"><${Exact} text=${asText(value)} /></pre></dd></div>`)}</dl>` : html`<p class="quiet">It has no arguments.</p>`}
    ${call.why ? html`<p>${call.why}</p>` : null}
    ${isLinked ? html`<p class="quiet">In <a href=${`#/run/${encodeURIComponent(run.id)}`}>${run.root || run.program}</a>:
      ${" "}${oneLine(run.text, 160)}</p>` : null}
    ${run.program === "" ? html`<p class="quiet">Its program goes on when it is resumed: <code>trivium resume ${run.id} MODULE:OBJECT</code></p>` : null}
    ${isRefusing ? html`<label>Reason, which the model reads <input ref=${field} value=${reason} maxlength="1000"
      onInput=${(/** @type {any} */ e) => setReason(e.target.value)}
      onKeyDown=${(/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter" && !e.isComposing) decide(false); }} /></label>` : null}
    ${error ? html`<p class="bad" role="alert">${error}</p>` : null}
    <div class="buttons">
      ${isRefusing ? html`<button onClick=${() => setRefusing(false)}>Back</button>
        <button class="danger" disabled=${isSent} onClick=${() => decide(false)}>Refuse</button>`
        : html`<button disabled=${isSent} onClick=${() => setRefusing(true)}>Refuse …</button>
        <button class="main" disabled=${isSent} onClick=${() => decide(true)}>Approve</button>`}
    </div>
  </section>`;
}
