// One run: why it is as it is, its tree, and what can be done with it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { download, get, post, Problem } from "./api.js";
import { ago, count, duration, isActive, moment, money, oneLine, stateWords } from "./format.js";
import { Decisions } from "./approvals.js";
import { SentFiles } from "./attachments.js";
import { Answer } from "./citations.js";
import { useAsked } from "./hooks.js";
import { merged, Outline } from "./outline.js";
import { LastAnswer, RunTree } from "./tree.js";

/** @param {{ state: string }} props */
export function State({ state }) {
  const [sign, words] = stateWords(state);
  return html`<span class=${`state ${state}`}><span aria-hidden="true">${sign}</span> ${words}</span>`;
}

/** @param {any} run */
export function whyOf(run) {
  if (run.state === "paused") return "";
  if (run.state === "killed") return "Its process ended. It goes on where it is resumed.";
  if (run.state === "cancelled") return run.why.replace(/^Cancellation:\s*/, "");
  return run.why || (run.error ? run.error.message : "");
}

/** @param {any} message */
export function answerOf(message) {
  const content = message?.content;
  return content && typeof content === "object" && "answer" in content ? content.answer : content;
}

/** @param {{ id: string, node: string, about: import("./app.js").About }} props */
export function Run({ id, node, about }) {
  const [isForking, setForking] = useState(/** @type {number | null} */ (null));
  const [isDeleting, setDeleting] = useState(false);
  const known = useRef(/** @type {{ run: any, columns: any, isSettled: boolean } | null} */ (null));
  const { value, error, ask } = useAsked(async (signal) => {
    const before = known.current, isSettled = before?.isSettled && !isActive(before.run.state);
    const { seq: after, keys } = before?.columns ?? {};
    const columns = async () => {
      if (!about.inspects) return null;
      // Of a run of another user, on which this one decides, there is no tree here.
      const found = await get("/ui/outline", { id, after, size: keys?.length }, signal).catch((error) => {
        if (error.status !== 404) throw error;
      });
      return found ? merged(before?.columns, found) : null;
    };
    const [run, found] = await Promise.all([get("/ui/run", { id }, signal), isSettled ? null : columns()]);
    const isSame = JSON.stringify(run) === JSON.stringify(before?.run);
    // Of a run that rests nothing is written: its tree is asked for once more after it was seen to rest, and then no more.
    return (known.current = { run, columns: isSettled ? (isSame ? before?.columns : await columns()) : found, isSettled: isSame });
  }, [id, about], ({ run }) => (run.state === "done" ? 0 : 1000));  // all others may go on: decided on, or resumed
  const run = value?.run, columns = value?.columns;
  const outline = useMemo(() => (columns ? new Outline(columns) : null), [columns?.seq, columns?.status]);

  if (error && !run) {
    const isMissing = error instanceof Problem && error.status === 404;
    return html`<div class="center stack"><h1>${isMissing ? "No such run" : "This run cannot be shown"}</h1><p role="alert">${error.message}</p><a href="#/">All runs</a></div>`;
  }
  if (!run) return html`<p class="center quiet">Loading …</p>`;
  const chosen = outline ? Math.max(0, node ? outline.columns.keys.indexOf(node) : 0) : 0;
  /** @param {number} at */
  const choose = (at) => {
    const key = at ? `/${encodeURIComponent(/** @type {Outline} */ (outline).columns.keys[at])}` : "";
    history.replaceState(null, "", `#/run/${encodeURIComponent(id)}${key}`);
    dispatchEvent(new HashChangeEvent("hashchange"));
  };
  const source = { input: run.text, node: (/** @type {string} */ key) => get("/ui/node", { id, key }) };
  const why = whyOf(run);
  return html`<article class="stack">
    <${Head} run=${run} outline=${outline} about=${about} onFork=${() => setForking(chosen || (run.state === "done" ? Math.max(0, outline?.firstModel() ?? 0) : 0))} onDelete=${() => setDeleting(true)} onChange=${ask} />
    ${why ? html`<p class="why bad" role="alert"><b>Why:</b> ${why}
      ${outline && outline.failure() > 0 ? html` <button class="plain" onClick=${() => choose(outline.failure())}>Show where</button>` : null}</p>` : null}
    ${run.approvals.length ? html`<${Decisions} waiting=${run.approvals.map((/** @type {any} */ call) => ({ run, call }))} about=${about} onDone=${ask} />` : null}
    ${run.message ? html`<section class="answer"><h2>Result</h2>
      <div class="card" tabindex="0"><${Answer} message=${run.message} runId=${id} inspects=${about.inspects} rank=${3} /></div></section>`
      : outline && run.state === "done" ? html`<${LastAnswer} outline=${outline} source=${source} />` : null}
    ${isDeleting ? html`<${Delete} run=${run} onClose=${() => setDeleting(false)} />` : null}
    ${isForking !== null && outline ? html`<${Fork} run=${run} outline=${outline} at=${isForking} onClose=${() => setForking(null)} />` : null}
    ${outline ? html`<${RunTree} outline=${outline} source=${source} chosen=${chosen} onChoose=${choose}
      actions=${(/** @type {number} */ at) => (at ? html`<p><button onClick=${() => setForking(at)}>Fork from here</button></p>` : null)} />` : null}
  </article>`;
}

/** @param {{ run: any, outline: Outline | null, about: any, onFork: () => void, onDelete: () => void, onChange: () => void }} props */
function Head({ run, outline, about, onFork, onDelete, onChange }) {
  const [error, setError] = useState("");
  const total = (/** @type {number} */ which) =>
    outline ? Object.values(outline.columns.tokens).reduce((sum, each) => sum + each[which], 0) : null;
  const tokens = run.tokens || (total(0) ?? 0) + (total(1) ?? 0), usd = run.usd || total(2);
  const took = run.ended ? (run.ended - run.started) * 1000 : outline?.total;
  const attempts = run.attempts - (run.fork ? 1 : 0);  // of a fork the first one has copied
  const isOwn = run.owner === about.owner;
  const place = `/ui/export?id=${encodeURIComponent(run.id)}`;
  return html`<div class="stack">
    <p class="crumbs"><a href="#/">Runs</a> / <span class="mono">${run.id}</span></p>
    <div class="split">
      <div class="buttons"><h1>${run.root || run.program}</h1><span role="status"><${State} state=${run.state} /></span></div>
      ${isOwn ? html`<div class="buttons">
        ${run.program && about.served.length ? html`<a class="button" href=${`#/chat/${encodeURIComponent(run.session)}`}>Open chat</a>` : null}
        ${about.inspects ? html`<a class="button" href=${`#/compare/${encodeURIComponent(run.id)}`}>Compare</a>
          <button onClick=${onFork}>Fork</button>
          <button onClick=${() => download(place, `${run.id}.html`).then(() => setError(""), (problem) => setError(problem.message))}>Export</button>` : null}
        ${isActive(run.state) || (run.program && run.state === "paused") ? null : html`<button class="danger" onClick=${onDelete}>Delete …</button>`}
        ${run.program && (isActive(run.state) || run.state === "paused") ? html`<button class="danger"
          onClick=${() => post(`/runs/${encodeURIComponent(run.id)}/cancel`, {}).then(() => setError(""), (problem) => setError(problem.message)).then(onChange)}>Cancel</button>` : null}
      </div>` : null}
    </div>
    ${error ? html`<p class="bad" role="alert">${error}</p>` : null}
    <dl class="facts">
      <div><dt>Input</dt><dd>${oneLine(run.text, 300) || "–"}<${SentFiles} run=${run} /></dd></div>
      ${run.program && run.program !== run.root ? html`<div><dt>Program</dt><dd>${run.program}</dd></div>` : null}
      <div><dt>Began</dt><dd title=${moment(run.started)}>${ago(run.started)}</dd></div>
      <div><dt>Took</dt><dd>${duration(took) || "–"}</dd></div>
      ${tokens ? html`<div><dt>Tokens</dt><dd>${count(tokens)}</dd></div>` : null}
      ${usd ? html`<div><dt>Cost</dt><dd>${money(usd)}</dd></div>` : null}
      ${attempts > 1 ? html`<div title="How often it was begun or resumed"><dt>Attempts</dt><dd>${attempts}</dd></div>` : null}
      ${run.fork ? html`<div><dt>Forked from</dt><dd><a href=${`#/run/${encodeURIComponent(run.fork.run)}`}>${run.fork.run}</a>${" "}
        · <a href=${`#/compare/${encodeURIComponent(run.fork.run)}/${encodeURIComponent(run.id)}`}>compare</a></dd></div>` : null}
    </dl>
  </div>`;
}

/** @param {{ run: any, onClose: () => void }} props */
function Delete({ run, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [error, setError] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const act = () => post("/ui/forget", { id: run.id }).then(() => { location.hash = "#/"; }, (problem) => setError(problem.message));
  return html`<dialog ref=${dialog} class="card" onClose=${onClose} aria-labelledby="delete-title">
    <div class="stack">
      <h2 id="delete-title">Delete this run?</h2>
      <p>What was asked and answered in it is deleted, and cannot be brought back. Forks keep what they have copied${
        run.program ? ", and the conversation remembers what was said" : ""}.</p>
      ${error ? html`<p class="bad" role="alert">${error}</p>` : null}
      <div class="buttons"><button onClick=${() => dialog.current?.close()}>Keep it</button>
        <button class="danger" onClick=${act}>Delete</button></div>
    </div>
  </dialog>`;
}

/** @param {{ run: any, outline: Outline, at: number, onClose: () => void }} props */
function Fork({ run, outline, at, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [error, setError] = useState("");
  const [made, setMade] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const canEdit = at > 0 && outline.columns.status[at] !== "o";
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const edit = given.get("how") === "edit" ? { edit: `${given.get("edit") ?? ""}` } : {};
    try {
      const at_ = at ? outline.columns.keys[at] : "";
      const fork = await post("/ui/fork", { id: run.id, at: at_, program: given.get("program") ?? "", ...edit });
      if (fork.is_running) location.hash = `#/run/${encodeURIComponent(fork.id)}`;
      else setMade(fork.id);
    } catch (problem) {
      setError(/** @type {Error} */ (problem).message);
    }
  };
  return html`<dialog ref=${dialog} class="card" onClose=${onClose} aria-labelledby="fork-title">
    <form class="stack" onSubmit=${submit}>
      <h2 id="fork-title">Fork ${at ? html`from <span class="mono">${outline.name(at)}</span>` : "at the end"}</h2>
      <p class="quiet">${at ? html`A new run that has everything before <span class="mono">${outline.path(at)}</span>, and goes on there. Nothing before it runs again.`
        : "A new run with everything that is recorded: what failed is tried again."} To go on from elsewhere, choose a node in the tree.</p>
      ${canEdit ? html`<fieldset class="stack"><legend>At this node</legend>
        <label class="check"><input type="radio" name="how" value="again" checked /> ask again</label>
        <label class="check"><input type="radio" name="how" value="edit" /> take this answer instead:</label>
        <textarea name="edit" rows="3" aria-label="The answer instead"
          onInput=${(/** @type {any} */ e) => { e.target.form.how.value = "edit"; }}></textarea></fieldset>` : null}
      ${run.programs.length ? html`<label>Go on with the program <select name="program">
        ${run.programs.map((/** @type {string} */ name) => html`<option key=${name} value=${name} selected=${name === run.program}>${name}${
          name === run.program ? " (as before)" : ""}</option>`)}
        <option value="">none yet: it waits</option></select></label>
        ${run.programs.length > 1 ? html`<p class="quiet">Each program has a model and instructions of its own.</p>` : null}
        ${run.programs.length === 1 ? html`<p class="quiet">To try another model, serve a second object of the name
          <span class="mono"> ${run.root}</span>: <code>trivium serve one=… two=…</code></p>` : null}`
        : html`<p>No object of the name <span class="mono">${run.root}</span> is served here. The fork waits until
          <code> trivium resume</code> goes on with it.</p>`}
      ${made ? html`<p role="status">Made. Go on with it by <code>trivium resume ${made} MODULE:OBJECT</code>, or
        <a href=${`#/run/${encodeURIComponent(made)}`} onClick=${() => dialog.current?.close()}> look at it</a>.</p>` : null}
      ${error ? html`<p class="bad" role="alert">${error}</p>` : null}
      <div class="buttons"><button type="button" onClick=${() => dialog.current?.close()}>Close</button>
        ${made ? null : html`<button class="main">Fork</button>`}</div>
    </form>
  </dialog>`;
}
