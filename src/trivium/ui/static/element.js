// <trivium-run>: a run within another page; its data stand in a script inside of it.
import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import { html } from "./html.js";
import { asText } from "./format.js";
import { Markdown } from "./markdown.js";
import { Outline } from "./outline.js";
import { LastAnswer, RunTree } from "./tree.js";

/** @param {{ data: any }} props */
function OneRun({ data }) {
  const outline = useMemo(() => new Outline(data.outline), [data]);
  const [chosen, setChosen] = useState(Math.max(0, outline.failure()));
  /** @param {string} key */
  const node = async (key) => {
    const { keys, parent } = data.outline, at = keys.indexOf(key);
    if (!data.nodes[key]) throw new Error("This page has the contents of the first nodes only: look at the run itself.");
    const before = [];
    for (let each = outline.firstChild[parent[at]]; each >= 0 && each !== at; each = outline.next[each]) {
      const beside = data.nodes[keys[each]];
      if (beside && (beside.error || beside.outcome !== null)) before.push(beside);
    }
    return { ...data.nodes[key], before };
  };
  const { run } = data;
  const answer = run.message?.content, said = answer?.answer ?? answer;
  return html`<article class="run-element">
    <h1>${run.root} <span class=${`state ${run.state}`}>${run.state}</span></h1>
    <p class="quiet mono">${run.id}</p>
    ${run.why ? html`<p class="why bad"><b>Why:</b> ${run.why}</p>` : null}
    ${answer ? html`<section class="answer"><h2>Result</h2><div class="card" tabindex="0">${typeof said === "string" ? html`<${Markdown} text=${said} rank=${3} />`
      : html`<pre>${asText(said)}</pre>`}</div></section>`
      : html`<${LastAnswer} outline=${outline} source=${{ input: run.text, node }} />`}
    <${RunTree} outline=${outline} source=${{ input: run.text, node }} chosen=${chosen} onChoose=${setChosen} run=${run.id} />
  </article>`;
}

class TriviumRun extends HTMLElement {
  connectedCallback() {
    const script = this.querySelector('script[type="application/json"]');
    if (!script || this.shadowRoot) return;
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(/** @type {any} */ (globalThis).triviumCSS ?? "");
    root.adoptedStyleSheets = [sheet];
    render(html`<${OneRun} data=${JSON.parse(script.textContent ?? "")} />`, root);
  }
}

if (!customElements.get("trivium-run")) customElements.define("trivium-run", TriviumRun);
