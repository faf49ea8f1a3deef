// The list of runs.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { get, PLACE } from "./api.js";
import { ago, count, duration, isActive, moment, money, oneLine } from "./format.js";
import { useAsked } from "./hooks.js";
import { State, whyOf } from "./run.js";
import { Exact } from "./values.js";

const PAGE = 100;
const MOST = 1000;
const STATES = ["", "running", "paused", "failed", "done"];

/** Where the list was left, for those who come back to it. */
const left = { place: "", top: 0, most: PAGE };

/** @param {{ about: import("./app.js").About, state: string, search: string }} props which runs: they stand in the address */
export function Runs({ about, state, search }) {
  const isBack = useRef(left.place === location.hash);
  const [most, setMost] = useState(isBack.current ? left.most : PAGE);
  const [picked, setPicked] = useState(/** @type {string[]} */ ([]));
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { value: found, error } = useAsked(() => get("/ui/runs", { search, state, limit: most }), [search, state, most], 2000);
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
      if (event.key !== "/" || /** @type {HTMLElement} */ (event.target).closest("input, textarea, select")) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useLayoutEffect(() => {
    if (found && isBack.current) scrollTo(0, left.top);
    if (found) isBack.current = false;
  }, [!found]);
  /** @param {string} state @param {string} search */
  const show = (state, search) => {
    history.replaceState(null, "", `#/runs/${state}/${encodeURIComponent(search)}`);
    dispatchEvent(new HashChangeEvent("hashchange"));
  };
  const leave = () => Object.assign(left, { place: location.hash, top: scrollY, most });
  /** @param {string} id */
  const pick = (id) => setPicked(picked.includes(id) ? picked.filter((each) => each !== id) : [...picked, id].slice(-2));
  return html`<div class="stack" onClickCapture=${leave}>
    <div class="split">
      <h1>Runs</h1>
      ${picked.length ? html`<div class="buttons">
        ${picked.length === 2 ? html`<a class="button main" href=${`#/compare/${picked.map(encodeURIComponent).reverse().join("/")}`}>Compare both</a>`
          : html`<span class="quiet">Pick a second one to compare</span>`}
        <button class="plain" onClick=${() => setPicked([])}>Clear</button></div>` : null}
    </div>
    <div class="tools">
      <input type="search" ref=${field} placeholder="Search ids, names, inputs, errors  ( / )" aria-label="Search runs" value=${search}
        onInput=${(/** @type {any} */ e) => show(state, e.target.value)} />
      <div class="choice" role="group" aria-label="State">
        ${STATES.map((each) => html`<button key=${each} aria-pressed=${state === each} onClick=${() => show(each, search)}>
          ${each === "paused" ? "waiting" : each || "all"}</button>`)}
      </div>
      <span class="quiet push" role="status">${found ? `${count(found.runs.length)}${found.more ? "+" : ""} ${found.runs.length === 1 ? "run" : "runs"}` : ""}</span>
    </div>
    ${error ? html`<p class="bad" role="alert">${error.message}</p>` : null}
    ${!found ? html`<p class="quiet">Loading …</p>` : found.runs.length ? html`
      <div class="scroll"><table class="runs">
        <thead><tr>${about.inspects ? html`<th><span class="hidden">Compare</span></th>` : null}<th>State</th><th>Run</th>
          <th>Input</th><th>Began</th><th class="number">Took</th><th class="number">Tokens</th><th class="number">Cost</th></tr></thead>
        <tbody>${found.runs.map((/** @type {any} */ run) => html`<${Line} key=${run.id} run=${run} about=${about} isPicked=${picked.includes(run.id)} onPick=${pick} />`)}</tbody>
      </table></div>
      ${found.more && most >= MOST ? html`<p class="quiet">These are the latest ${count(MOST)}; the search finds older ones.</p>` : null}
      ${found.more && most < MOST ? html`<button onClick=${() => setMost(most + PAGE)}>Show more</button>` : null}`
      : html`<${Nothing} about=${about} isFiltered=${Boolean(search || state)} />`}
  </div>`;
}

/** Shorten an id in its middle: forks of one run differ at the end. @param {string} id */
const middleOf = (id) => (id.length > 26 ? `${id.slice(0, 12)}…${id.slice(-12)}` : id);

/** @param {{ run: any, about: any, isPicked: boolean, onPick: (id: string) => void }} props */
function Line({ run, about, isPicked, onPick }) {
  const why = whyOf(run);
  const took = run.ended ? (run.ended - run.started) * 1000 : isActive(run.state) ? Date.now() - run.started * 1000 : null;
  const place = `#/run/${encodeURIComponent(run.id)}`;
  /** Open the run, unless something else in the line was meant. @param {MouseEvent} event */
  const open = (event) => {
    if (!(/** @type {HTMLElement} */ (event.target).closest("a, .pick")) && !`${getSelection()}`) location.hash = place;
  };
  return html`<tr onClick=${open}>
    ${about.inspects ? html`<td class="pick"><input type="checkbox" aria-label=${`Compare ${run.id}`} checked=${isPicked} onChange=${() => onPick(run.id)} /></td>` : null}
    <td class="is"><${State} state=${run.state} /></td>
    <td class="id"><a href=${place}>${run.root || run.program}</a> <span class="quiet mono" title=${run.id}>${middleOf(run.id)}</span>
      ${run.program && run.program !== run.root ? html` <span class="quiet">${run.program}</span>` : null}${run.fork ? html` <span class="badge">fork</span>` : null}</td>
    <td class="input">${oneLine(run.text, 120) || html`<${Exact} text=${oneLine(run.files.map((/** @type {any} */ file) => file.filename || file.mime_type).join(", "), 120)} />`}${why ? html`<div class="bad">${oneLine(why, 160)}</div>` : null}</td>
    <td class="when" title=${moment(run.started)}>${ago(run.started)}</td>
    <td class="number">${duration(took)}</td><td class="number tokens">${count(run.tokens || null)}</td><td class="number">${money(run.usd)}</td>
  </tr>`;
}

/** @param {{ about: any, isFiltered: boolean }} props */
function Nothing({ about, isFiltered }) {
  if (isFiltered) return html`<div class="empty"><p>No run is like that.</p></div>`;
  return html`<div class="empty stack"><p><b>There are no runs yet.</b></p>
    ${about.served.length ? html`<p>Talk to <a href="#/chat">${about.served[0].name}</a>, or start one from a program:</p>
      <pre tabindex="0">curl ${location.origin}${PLACE}runs -H "Authorization: Bearer …" -d '{"message": "hello"}'</pre>`
      : html`<p>Runs appear here when a program writes them:</p>
      <pre tabindex="0">agent("hello", run_id="greeting-1", journal=Journal("runs.db"))</pre>`}</div>`;
}
