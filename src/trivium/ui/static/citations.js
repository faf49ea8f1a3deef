// Answers of documents: their citations open at the line.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { get } from "./api.js";
import { asText } from "./format.js";
import { Markdown } from "./markdown.js";

/**
 * @typedef {{
 *   number: number, source: string, line: number, end_line: number, page: number | null, attachment: string,
 *   heading: string, quote: string, chunk_id: string,
 * }} Citation
 * @typedef {{ number: number, text: string }[]} Passage lines of a document, with their numbers
 */

/** Return the answer with citations that a message carries; null: it has none. @param {any} message */
function citedIn(message) {
  return [message?.content, ...(message?.attachments ?? [])].find((each) => each?.citations?.length) ?? null;
}

/** @param {Citation} cited */
function placeOf(cited) {
  const lines = cited.line ? `:${cited.line}${cited.end_line > cited.line ? `-${cited.end_line}` : ""}` : "";
  const file = cited.attachment ? `, attachment ${cited.attachment}` : "";
  return `${cited.source}${file}${cited.page ? `, page ${cited.page}` : ""}${lines}`;
}

/**
 * Return the lines of a text. Where it was put together of several parts, each has its own numbers, and an empty line that
 * stands only between two of them is left out.
 * @param {string} text @param {number} line the number of its first line
 * @param {[number, number][]} parts where the others begin, in characters, and the numbers of their first lines
 * @returns {Passage}
 */
export function linesOf(text, line, parts = []) {
  const found = [], todo = [...parts];
  let offset = 0, number = Math.max(1, line);
  for (const each of text.split("\n")) {
    while (todo.length && todo[0][0] <= offset) {
      const [start, first] = /** @type {[number, number]} */ (todo.shift());
      number = first + (start < offset ? 1 : 0);  // a part may begin within a line
    }
    const isBetween = !each && todo.length > 0 && number >= todo[0][1];
    if (!isBetween) found.push({ number, text: each });
    offset += [...each].length + 1;
    number++;
  }
  return found;
}

/** Return the passage that a run has read a citation from. @param {string} id @param {Citation} cited @returns {Promise<Passage>} */
async function passageOf(id, cited) {
  const outline = await get("/ui/outline", { id });
  const read = outline.names.indexOf("retrieve");
  for (let at = 0; at < outline.keys.length; at++) {
    if (outline.name[at] !== read) continue;
    const { outcome } = await get("/ui/node", { id, key: outline.keys[at] });
    for (const { chunk } of Array.isArray(outcome) ? outcome : []) {
      const { line, source, source_lines } = chunk?.metadata ?? {};
      if (source === cited.source && line && chunk.content.includes(cited.quote)) return linesOf(chunk.content, line, source_lines);
    }
  }
  return linesOf(cited.quote, cited.line);
}

/** @param {{ message: any, runId: string, inspects: boolean, rank?: number }} props rank: the level of its headings */
export function Answer({ message, runId, inspects, rank }) {
  const [open, setOpen] = useState(0);
  const answer = citedIn(message), content = answer?.answer ?? message?.content?.answer ?? message?.content;
  const citations = /** @type {Citation[]} */ (answer?.citations ?? []);
  const chosen = citations.find((each) => each.number === open);
  /** @param {number} number */
  const toggle = (number) => setOpen(open === number ? 0 : number);
  const cite = useCallback((/** @type {number} */ number, /** @type {string} */ text) => citations.some((each) => each.number === number)
    && html`<button class="cite" aria-expanded=${open === number} onClick=${() => toggle(number)}>${text}</button>`, [message, open]);
  return html`<div class="stack">
    ${typeof content === "string" ? html`<${Markdown} text=${content} rank=${rank} cite=${cite} />` : html`<pre tabindex="0">${asText(content)}</pre>`}
    ${answer ? html`<ul class="citations">${citations.map((each) => html`<li key=${each.number}><button class="plain" aria-expanded=${open === each.number}
      onClick=${() => toggle(each.number)}>[${each.number}] ${placeOf(each)}</button></li>`)}</ul>` : null}
    ${chosen ? html`<${Shown} key=${chosen.number} cited=${chosen} runId=${runId} inspects=${inspects} />` : null}
  </div>`;
}

/** @param {{ cited: Citation, runId: string, inspects: boolean }} props */
function Shown({ cited, runId, inspects }) {
  const [passage, setPassage] = useState(/** @type {Passage} */ (linesOf(cited.quote, cited.line)));
  const list = useRef(/** @type {HTMLOListElement | null} */ (null));
  useEffect(() => {
    if (inspects) passageOf(runId, cited).then(setPassage, () => {});
  }, []);
  useEffect(() => {
    const line = /** @type {HTMLElement | null | undefined} */ (list.current?.querySelector(".cited"));
    if (line && list.current) list.current.scrollTop = line.offsetTop - list.current.clientHeight / 3;
  }, [passage]);
  const isCited = (/** @type {number} */ line) => line >= cited.line && line <= Math.max(cited.line, cited.end_line);
  return html`<section class="card passage" aria-label=${placeOf(cited)}>
    <p class="quiet">${cited.heading ? `${cited.heading} · ` : ""}${placeOf(cited)}</p>
    <ol class="lines" ref=${list} tabindex="0">
      ${passage.map(({ number, text }) => html`<li value=${number} class=${isCited(number) ? "cited" : ""}><pre>${text || " "}</pre></li>`)}</ol>
  </section>`;
}
