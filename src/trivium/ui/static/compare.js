// Two runs side by side, with the first difference between them.
import { html } from "./html.js";
import { get } from "./api.js";
import { asText, count, duration, money, oneLine } from "./format.js";
import { useAsked } from "./hooks.js";
import { Markdown } from "./markdown.js";
import { answerOf, State, whyOf } from "./run.js";
import { ModelAnswer } from "./values.js";
import { useState } from "preact/hooks";

/** @param {{ first: string, second: string }} props */
export function Compare({ first, second }) {
  return second ? html`<${Both} key=${`${first}/${second}`} first=${first} second=${second} />` : html`<${Pick} first=${first} />`;
}

/** @param {{ first: string }} props */
function Pick({ first }) {
  const [search, setSearch] = useState("");
  const { value } = useAsked(() => get("/ui/runs", { search, limit: 50 }), [search]);
  return html`<div class="stack"><h1>Compare with …</h1>
    <input type="search" aria-label="Search runs" placeholder="Search runs" value=${search} onInput=${(/** @type {any} */ e) => setSearch(e.target.value)} />
    <ul class="picks">${(value?.runs ?? []).filter((/** @type {any} */ run) => run.id !== first).map((/** @type {any} */ run) => html`<li key=${run.id}>
      <a href=${`#/compare/${encodeURIComponent(first)}/${encodeURIComponent(run.id)}`}>${run.root}
        ${" "}<span class="mono quiet">${run.id}</span></a> <${State} state=${run.state} /> <span class="quiet">${oneLine(run.text, 80)}</span></li>`)}</ul>
  </div>`;
}

const WHAT = /** @type {Record<string, string>} */ ({
  input: "They began with other messages.", asked: "The first difference: this node was asked something else.",
  answered: "The first difference: this node gave another answer.", missing: "The first difference: only one of them has this node.",
});

/** @param {{ first: string, second: string }} props */
function Both({ first, second }) {
  const { value, error } = useAsked(() => get("/ui/compare", { first, second }), [first, second]);
  if (error) return html`<div class="center stack"><p class="bad" role="alert">${error.message}</p><a href="#/">All runs</a></div>`;
  if (!value) return html`<p class="center quiet">Loading …</p>`;
  const { runs, sides, divergence } = value;
  const said = (/** @type {any} */ answer) => (typeof answer === "string" ? answer && html`<${Markdown} text=${answer} />` : html`<pre>${asText(answer)}</pre>`);
  /** @type {[string, (at: number) => any][]} */
  const facts = [
    ["State", (at) => html`<${State} state=${runs[at].state} />`], ["Why", (at) => whyOf(runs[at])],
    ["Program", (at) => runs[at].program || runs[at].root], ["Took", (at) => duration(sides[at].seconds * 1000)],
    ["Nodes", (at) => count(sides[at].nodes)], ["Tokens", (at) => count(sides[at].usage[0] + sides[at].usage[1])],
    ["Cost", (at) => money(sides[at].usage[2]) || "–"], ["Result", (at) => said(answerOf(runs[at].message) ?? "")],
  ];
  return html`<div class="stack"><h1>Compare</h1>
    <p class=${divergence ? "why" : "why good"}>${divergence ? html`<b>${WHAT[divergence.what]}</b> <span class="mono">${divergence.path.replace(/#0(?=\/|$)/g, "")}</span>`
      : "The two runs are alike, but for times and tokens."}</p>
    <div class="scroll"><table class="compare"><thead><tr><th><span class="hidden">Fact</span></th>
      ${runs.map((/** @type {any} */ run) => html`<th key=${run.id}><a href=${`#/run/${encodeURIComponent(run.id)}`}>${run.id}</a></th>`)}</tr></thead>
      <tbody>
        ${divergence ? html`<tr class="differs"><th scope="row">At the difference</th>
          ${[0, 1].map((at) => html`<td>${sides[at].outcome?.v?.text !== undefined ? html`<${ModelAnswer} answer=${plain(sides[at].outcome)} />`
            : html`<pre tabindex="0">${(at ? divergence.second : divergence.first) || "nothing yet"}</pre>`}
            ${sides[at].key ? html`<a href=${`#/run/${encodeURIComponent(runs[at].id)}/${encodeURIComponent(sides[at].key)}`}>open</a>` : null}</td>`)}</tr>` : null}
        ${facts.filter(([, show]) => show(0) || show(1)).map(([name, show]) => html`<tr key=${name}><th scope="row">${name}</th><td>${show(0)}</td><td>${show(1)}</td></tr>`)}
      </tbody></table></div></div>`;
}

/** Leave the names of classes out, as the server does for single nodes. @param {any} value @returns {any} */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (!value || typeof value !== "object") return value;
  return "$" in value && "v" in value ? plain(value.v) : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}
