// Answers as models write them: the part of Markdown that they use. Whatever else stands there is shown as the text that
// it is, HTML too; a link or an image is shown as its text and its address, so nothing is loaded and nothing leads away.
import { useMemo } from "preact/hooks";
import { html } from "./html.js";

/**
 * @typedef {{ kind: "text" | "rule", text: string } | { kind: "code", text: string, language: string } | { kind: "title", text: string, rank: number }
 *   | { kind: "quote", blocks: Block[] } | { kind: "list", first: number | null, items: Block[][] }
 *   | { kind: "table", rows: string[][] }} Block
 * @typedef {(number: number, text: string) => any} Cite what is shown for a citation, as [1]
 */

const DEEPEST = 8;  // what is nested deeper is text
const FENCE = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)/, TITLE = /^ {0,3}(#{1,6})[ \t]+(.*)/, RULE = /^ {0,3}([-*_])([ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/, ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/, FIRST_ITEM = /^ *([-*+]|1[.)]) +/, CELLS = /^[\s|:-]+$/;

/** @param {string} text @returns {Block[]} */
export const blocksOf = (text) => blocksIn(text.split("\n"), 0);

/** @param {string[]} lines @param {number} depth @returns {Block[]} */
function blocksIn(lines, depth) {
  /** @type {Block[]} */
  const found = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at], fence = FENCE.exec(line), title = TITLE.exec(line), next = lines[at + 1];
    const begun = at;
    if (!line.trim()) at++;
    else if (fence) {
      const isEnd = (/** @type {string} */ each) => each.trimStart().startsWith(fence[2]) && !each.trim().slice(fence[2].length).replaceAll(fence[2][0], "");
      do at++; while (at < lines.length && !isEnd(lines[at]));
      found.push({ kind: "code", language: fence[3].trim(), text: lines.slice(begun + 1, at++).map((each) => without(each, fence[1].length)).join("\n") });
    } else if (title) found.push({ kind: "title", rank: title[1].length, text: title[2].replace(/(^|\s)#+\s*$/, "") }), at++;
    else if (RULE.test(line)) found.push({ kind: "rule", text: "" }), at++;
    else if (QUOTE.test(line) && depth < DEEPEST) {
      while (at < lines.length && QUOTE.test(lines[at])) at++;
      found.push({ kind: "quote", blocks: blocksIn(lines.slice(begun, at).map((each) => each.replace(QUOTE, "")), depth + 1) });
    } else if (ITEM.test(line) && depth < DEEPEST) at = list(lines, at, depth, found);
    else if (line.includes("|") && next?.includes("-") && CELLS.test(next)) {
      while (at < lines.length && lines[at].includes("|")) at++;
      found.push({ kind: "table", rows: lines.slice(begun, at).filter((_, number) => number !== 1).map(cellsOf) });
    } else {
      do at++; while (at < lines.length && lines[at].trim() && !begins(lines[at]));
      found.push({ kind: "text", text: lines.slice(begun, at).join("\n").trim() });
    }
  }
  return found;
}

/** Return whether a line ends the paragraph above it. @param {string} line */
function begins(line) {
  return [FENCE, TITLE, QUOTE, RULE, FIRST_ITEM].some((each) => each.test(line));
}

/** Leave so many spaces at the start of a line out, as far as it has them. @param {string} line @param {number} most */
const without = (line, most) => line.slice(Math.min(most, line.length - line.trimStart().length));

/**
 * Read a list; return where it ends. What is indented by two or more belongs to the item above.
 * @param {string[]} lines @param {number} from @param {number} depth @param {Block[]} found
 */
function list(lines, from, depth, found) {
  const [, indent, sign] = /** @type {RegExpExecArray} */ (ITEM.exec(lines[from]));
  const kindOf = (/** @type {string} */ mark) => mark.slice(-1);
  /** @type {string[][]} */
  const items = [];
  let at = from, inner = 0;
  for (; at < lines.length; at++) {
    const line = lines[at], item = ITEM.exec(line), deep = line.length - line.trimStart().length;
    if (item && deep < indent.length + 2 && !RULE.test(line)) {
      if (kindOf(item[2]) !== kindOf(sign)) break;
      inner = item[3].length > 4 ? deep + item[2].length + 1 : item[0].length;
      items.push([line.slice(inner)]);
      continue;
    }
    const isApart = !lines[at - 1].trim();
    if (line.trim() && deep < indent.length + 2 && (isApart || begins(line))) break;
    items[items.length - 1].push(without(line, inner));
  }
  const first = /\d/.test(sign) ? Number.parseInt(sign) : null;
  found.push({ kind: "list", first, items: items.map((each) => blocksIn(each, depth + 1)) });
  return at;
}

/** @param {string} line */
const cellsOf = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((each) => each.trim().replaceAll("\\|", "|"));

const HELD = "\uE000";  // stands for code and escaped signs, in which nothing else is read
const SET_APART = /\\([!-/:-@[-`{-~])|(?<!`)(`+)(?!`)([^]*?[^`])\2(?!`)/g;
const PARTS = /(\uE000)|!?\[([^[\]\n]*)\]\(((?:[^()\s\uE000]|\([^()\s\uE000]*\))+)(?: +"[^"\n\uE000]*")?\)|<(https?:[^<>\s\uE000]+)>|\[(\d+)\]|(\*{1,3}|_{1,3}|~~)/g;
const TAGS = /** @type {Record<string, string[]>} */ ({
  "***": ["strong", "em"], "**": ["strong"], "*": ["em"], "___": ["strong", "em"], "__": ["strong"], "_": ["em"], "~~": ["del"],
});
const WORD = /[\p{L}\p{N}]/u;

/** Return a text with its emphasis, code, links and citations. @param {string} text @param {Cite} [cite] */
export function inlineOf(text, cite) {
  /** @type {any[]} */
  const held = [];
  const plain = text.replaceAll(HELD, "\uFFFD").replace(SET_APART, (_, sign, _ticks, code) => {
    held.push(sign ?? html`<code>${code.replace(/^ (.*\S.*) $/s, "$1").replaceAll("\n", " ")}</code>`);
    return HELD;
  });
  return partsOf(plain, { held: held.values(), cite }, 0);
}

/** @param {string} text @param {{ held: IterableIterator<any>, cite?: Cite }} context @param {number} depth */
function partsOf(text, context, depth) {
  /** @type {any[]} */
  const found = [];
  const hasNoEnd = new Set(), signs = new RegExp(PARTS);
  let done = 0;
  for (let part = signs.exec(text); part; part = signs.exec(text)) {
    const [whole, isHeld, words, address, bare, number, sign] = part;
    /** @type {any} */
    let shown = null;
    if (isHeld) shown = context.held.next().value;
    else if (address) shown = html`${partsOf(words, context, depth + 1)}${words === address ? null : html` <span class="quiet">(${address})</span>`}`;
    else if (bare) shown = bare;
    else if (number) shown = context.cite?.(Number(number), whole) || whole;
    else if (depth < DEEPEST && !hasNoEnd.has(sign) && opens(text, part.index, sign)) {
      const end = endOf(text, part.index + sign.length, sign);
      if (end < 0) hasNoEnd.add(sign);
      else {
        const before = text.slice(done, part.index), inside = partsOf(text.slice(part.index + sign.length, end), context, depth + 1);
        found.push(before, TAGS[sign].reduceRight((all, tag) => html`<${tag}>${all}<//>`, inside));
        done = signs.lastIndex = end + sign.length;
      }
    }
    if (shown === null) continue;
    found.push(text.slice(done, part.index), shown);
    done = signs.lastIndex;
  }
  found.push(text.slice(done));
  return found;
}

/** @param {string} text @param {number} at @param {string} sign */
function opens(text, at, sign) {
  const isWithin = sign[0] === "_" && WORD.test(text[at - 1] ?? " ");
  return !isWithin && /\S/.test(text[at + sign.length] ?? " ");
}

/** Return where what a sign opens ends; -1: nowhere. @param {string} text @param {number} from @param {string} sign */
function endOf(text, from, sign) {
  const runs = new RegExp(`\\${sign[0]}+`, "g");
  runs.lastIndex = from + 1;
  for (let run = runs.exec(text); run; run = runs.exec(text)) {
    const size = run[0].length, isWithin = sign[0] === "_" && WORD.test(text[runs.lastIndex] ?? " ");
    const isLike = size === sign.length || (size === 3 && sign.length < 3);  // three end what one has begun, and what two have
    if (isLike && !isWithin && /\S/.test(text[run.index - 1])) return runs.lastIndex - sign.length;
  }
  return -1;
}

/** @param {{ text: string, cite?: Cite }} props */
function Inline({ text, cite }) {
  return useMemo(() => inlineOf(text, cite), [text, cite]);
}

/** @param {{ block: Block, rank: number, cite?: Cite }} props */
function OneBlock({ block, rank, cite }) {
  const all = (/** @type {Block[]} */ blocks) => blocks.map((each, at) => html`<${OneBlock} key=${at} block=${each} rank=${rank} cite=${cite} />`);
  const inline = (/** @type {string} */ text) => html`<${Inline} text=${text} cite=${cite} />`;
  switch (block.kind) {
    case "code": return html`<pre class="code" tabindex="0">${block.language ? html`<span class="language">${block.language}</span>` : null}<code>${block.text}</code></pre>`;
    case "rule": return html`<hr />`;
    case "title": return html`<${`h${rank}`} class=${`title${block.rank > 2 ? " minor" : ""}`}>${inline(block.text)}<//>`;
    case "quote": return html`<blockquote dir="auto">${all(block.blocks)}</blockquote>`;
    case "list": {
      const items = block.items.map((each, at) => html`<li key=${at}>${all(each)}</li>`);
      return block.first === null ? html`<ul dir="auto">${items}</ul>` : html`<ol dir="auto" start=${block.first}>${items}</ol>`;
    }
    case "table": return html`<div class="scroll"><table dir="auto"><thead><tr>${block.rows[0].map((each) => html`<th>${inline(each)}</th>`)}</tr></thead>
      <tbody>${block.rows.slice(1).map((row, at) => html`<tr key=${at}>${row.map((each) => html`<td>${inline(each)}</td>`)}</tr>`)}</tbody></table></div>`;
    default: return html`<p>${inline(block.text)}</p>`;
  }
}

/**
 * Show a text with its Markdown.
 * @param {{ text: string, rank?: number, cite?: Cite }} props rank: the level of its headings
 */
export function Markdown({ text, rank = 2, cite }) {
  const shown = useMemo(() => blocksOf(text).map((each, at) => html`<${OneBlock} key=${at} block=${each} rank=${rank} cite=${cite} />`),
    [text, rank, cite]);
  return html`<div class="markdown">${shown}</div>`;
}
