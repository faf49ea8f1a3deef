// Answers of documents: their citations open at the line.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { get } from "./api.js";
import { asText } from "./format.js";

/**
 * @typedef {{
 *   number: number, source: string, line: number, end_line: number, page: number | null, heading: string, quote: string,
 *   chunk_id: string,
 * }} Citation
 * @typedef {{ line: number, text: string }} Passage a part of a document, and the number of its first line
 */

/** Return the answer with citations that a message carries; null: it has none. @param {any} message */
function citedIn(message) {
  return [message?.content, ...(message?.attachments ?? [])].find((each) => each?.citations?.length) ?? null;
}

/** @param {Citation} cited */
function placeOf(cited) {
  const lines = cited.line ? `:${cited.line}${cited.end_line > cited.line ? `-${cited.end_line}` : ""}` : "";
  return `${cited.source}${cited.page ? `, page ${cited.page}` : ""}${lines}`;
}

/** Return the passage that a run has read a citation from. @param {string} id @param {Citation} cited @returns {Promise<Passage>} */
async function passageOf(id, cited) {
  const outline = await get("/ui/outline", { id });
  const read = outline.names.indexOf("retrieve");
  for (let at = 0; at < outline.keys.length; at++) {
    if (outline.name[at] !== read) continue;
    const { outcome } = await get("/ui/node", { id, key: outline.keys[at] });
    for (const { chunk } of Array.isArray(outcome) ? outcome : []) {
      const { line, source } = chunk?.metadata ?? {};
      if (source === cited.source && line && chunk.content.includes(cited.quote)) return { line, text: chunk.content };
    }
  }
  return { line: cited.line, text: cited.quote };
}

/** @param {{ message: any, runId: string, inspects: boolean }} props */
export function Answer({ message, runId, inspects }) {
  const [open, setOpen] = useState(0);
  const answer = citedIn(message);
  if (!answer) return html`<pre class="text">${asText(message?.content?.answer ?? message?.content)}</pre>`;
  const citations = /** @type {Citation[]} */ (answer.citations);
  const chosen = citations.find((each) => each.number === open);
  /** @param {number} number */
  const toggle = (number) => setOpen(open === number ? 0 : number);
  return html`<div class="stack">
    <pre class="text">${`${answer.answer}`.split(/(\[\d+\])/).map((part) => {
      const number = Number(/^\[(\d+)\]$/.exec(part)?.[1] ?? 0);
      return citations.some((each) => each.number === number)
        ? html`<button class="cite" aria-expanded=${open === number} onClick=${() => toggle(number)}>${part}</button>` : part;
    })}</pre>
    <ul class="citations">${citations.map((each) => html`<li key=${each.number}><button class="plain" aria-expanded=${open === each.number}
      onClick=${() => toggle(each.number)}>[${each.number}] ${placeOf(each)}</button></li>`)}</ul>
    ${chosen ? html`<${Shown} key=${chosen.number} cited=${chosen} runId=${runId} inspects=${inspects} />` : null}
  </div>`;
}

/** @param {{ cited: Citation, runId: string, inspects: boolean }} props */
function Shown({ cited, runId, inspects }) {
  const [passage, setPassage] = useState(/** @type {Passage} */ ({ line: cited.line, text: cited.quote }));
  const list = useRef(/** @type {HTMLOListElement | null} */ (null));
  useEffect(() => {
    if (inspects) passageOf(runId, cited).then(setPassage, () => {});
  }, []);
  useEffect(() => {
    const line = /** @type {HTMLElement | null | undefined} */ (list.current?.querySelector(".cited"));
    if (line && list.current) list.current.scrollTop = line.offsetTop - list.current.clientHeight / 3;
  }, [passage]);
  const first = Math.max(1, passage.line);
  const isCited = (/** @type {number} */ line) => line >= cited.line && line <= Math.max(cited.line, cited.end_line);
  return html`<section class="card passage" aria-label=${placeOf(cited)}>
    <p class="quiet">${cited.heading ? `${cited.heading} · ` : ""}${placeOf(cited)}</p>
    <ol class="lines" ref=${list} start=${first} tabindex="0">
      ${passage.text.split("\n").map((text, at) => html`<li class=${isCited(first + at) ? "cited" : ""}><pre>${text || " "}</pre></li>`)}</ol>
  </section>`;
}
