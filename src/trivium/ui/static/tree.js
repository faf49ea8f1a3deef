// The tree of a run with its timeline: one list, of which only what is seen is made; and the node that is chosen.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { asText, count, duration, money, stateWords } from "./format.js";
import { useAsked } from "./hooks.js";
import { Markdown } from "./markdown.js";
import { ModelAnswer, Request, Value } from "./values.js";

/** @typedef {import("./outline.js").Outline} Outline */
/** @typedef {{ input: string, node: (key: string) => Promise<any> }} Source where contents of nodes come from */

const ROW = 28;
const BEYOND = 8;

/**
 * @param {{
 *   outline: Outline, source: Source, chosen: number, onChoose: (at: number) => void, actions?: (at: number) => any, run?: string,
 * }} props run: its name, where a page has several
 */
export function RunTree({ outline, source, chosen, onChoose, actions, run }) {
  const [closed, setClosed] = useState(/** @type {Set<number>} */ (new Set()));
  const [search, setSearch] = useState("");
  const [onlyFailed, setOnlyFailed] = useState(false);
  const rows = useMemo(() => {
    const words = search.toLowerCase();
    const { errors } = outline.columns;
    const wanted = !words && !onlyFailed ? null : (/** @type {number} */ at) =>
      (!onlyFailed || outline.columns.status[at] === "f") &&
      (!words || outline.name(at).toLowerCase().includes(words) || (errors[at] ?? "").toLowerCase().includes(words));
    return outline.rows(closed, wanted);
  }, [outline, closed, search, onlyFailed]);

  /** @param {number} at */
  const toggle = (at) => {
    const changed = new Set(closed);
    if (!changed.delete(at)) changed.add(at);
    setClosed(changed);
  };
  return html`<div class="explore">
    <div class="panel">
      <div class="tools">
        <input type="search" placeholder="Find a node" aria-label="Find a node" value=${search}
          onInput=${(/** @type {any} */ e) => setSearch(e.target.value)} />
        <label class="check"><input type="checkbox" checked=${onlyFailed}
          onChange=${(/** @type {any} */ e) => setOnlyFailed(e.target.checked)} /> failed only</label>
        <span class="quiet push" role="status">${rows.length < outline.size ? `${count(rows.length)} of ` : ""}${count(outline.size)} ${outline.size === 1 ? "node" : "nodes"}</span>
      </div>
      <${List} outline=${outline} rows=${rows} closed=${closed} chosen=${chosen} onChoose=${onChoose} onToggle=${toggle} />
    </div>
    <${Details} outline=${outline} at=${chosen} source=${source} actions=${actions} run=${run} />
  </div>`;
}

/**
 * Show what a run whose result is not recorded has answered last: that of its models which stand highest.
 * @param {{ outline: Outline, source: Source }} props
 */
export function LastAnswer({ outline, source }) {
  const at = outline.lastAnswer(), key = outline.columns.keys[at];
  const { value } = useAsked(async () => (at < 0 ? null : source.node(key)), [key]);
  return value?.outcome ? html`<section class="answer"><h2>Last answer</h2>
    <div class="card stack" tabindex="0">${value.outcome.text ? html`<${Markdown} text=${value.outcome.text} rank=${3} />` : null}
      <${ModelAnswer} answer=${{ ...value.outcome, text: "" }} /></div></section>` : null;
}

/**
 * @param {{
 *   outline: Outline, rows: Int32Array, closed: Set<number>, chosen: number, onChoose: (at: number) => void,
 *   onToggle: (at: number) => void,
 * }} props
 */
function List({ outline, rows, closed, chosen, onChoose, onToggle }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = /** @type {HTMLDivElement} */ (box.current);
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const place = rows.indexOf(chosen);
  useEffect(() => {
    const element = box.current;
    if (!element || place < 0) return;
    if (place * ROW < element.scrollTop) element.scrollTop = place * ROW;
    else if ((place + 1) * ROW > element.scrollTop + element.clientHeight) element.scrollTop = (place + 1) * ROW - element.clientHeight;
  }, [place, chosen]);

  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const page = Math.max(1, Math.floor(view.height / ROW) - 1);
    const isOpen = outline.firstChild[chosen] >= 0 && !closed.has(chosen);
    /** @type {Record<string, () => number>} */
    const moves = {
      ArrowDown: () => rows[Math.min(rows.length - 1, place + 1)], ArrowUp: () => rows[Math.max(0, place - 1)],
      PageDown: () => rows[Math.min(rows.length - 1, place + page)], PageUp: () => rows[Math.max(0, place - page)],
      Home: () => rows[0], End: () => rows[rows.length - 1],
      ArrowRight: () => {
        if (isOpen) return outline.firstChild[chosen];
        if (closed.has(chosen)) onToggle(chosen);
        return chosen;
      },
      ArrowLeft: () => {
        if (!isOpen) return Math.max(0, outline.columns.parent[chosen]);
        onToggle(chosen);
        return chosen;
      },
    };
    const move = moves[event.key];
    if (!move || !rows.length) return;
    event.preventDefault();
    onChoose(move());
  };

  const first = Math.max(0, Math.floor(view.top / ROW) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + BEYOND);
  const shown = [];
  for (let index = first; index < last; index++) {
    shown.push(html`<${Row} key=${rows[index]} outline=${outline} at=${rows[index]} index=${index} isClosed=${closed.has(rows[index])}
      isChosen=${rows[index] === chosen} onChoose=${onChoose} onToggle=${onToggle} />`);
  }
  return html`<div class="list" ref=${box} role="treegrid" style=${{ height: `min(${Math.max(4, rows.length) * ROW + 2}px, var(--tall))` }} tabindex="0" aria-label="Nodes of the run" aria-rowcount=${rows.length}
    aria-activedescendant=${place >= first && place < last ? `node-${chosen}` : undefined} onKeyDown=${onKey}>
    <div class="space" style=${{ height: `${rows.length * ROW}px` }} role="presentation">${shown}</div>
    ${rows.length ? null : html`<p class="empty" role="row"><span role="gridcell">No node is like that.</span></p>`}
  </div>`;
}

/**
 * @param {{
 *   outline: Outline, at: number, index: number, isClosed: boolean, isChosen: boolean, onChoose: (at: number) => void,
 *   onToggle: (at: number) => void,
 * }} props
 */
function Row({ outline, at, index, isClosed, isChosen, onChoose, onToggle }) {
  const { start, took, errors, tokens } = outline.columns;
  const status = outline.status(at), hasBelow = outline.firstChild[at] >= 0;
  const used = tokens[at];
  const sign = status === "open" ? "◌" : stateWords(status)[0];
  return html`<div class=${`row ${status}${outline.name(at) === "approval" ? " waited" : ""}`} role="row" id=${`node-${at}`} aria-level=${outline.depth[at] + 1} aria-rowindex=${index + 1}
    aria-selected=${isChosen} aria-expanded=${hasBelow ? !isClosed : undefined} style=${{ transform: `translateY(${index * ROW}px)` }}
    onClick=${() => onChoose(at)} onDblClick=${() => hasBelow && onToggle(at)}>
    <span class="name" role="gridcell" style=${{ paddingLeft: `${Math.min(outline.depth[at], 20) * 14 + 4}px` }}>
      <span class="twist" aria-hidden="true" onClick=${(/** @type {Event} */ e) => { if (hasBelow) { e.stopPropagation(); onToggle(at); } }}>
        ${hasBelow ? (isClosed ? "▸" : "▾") : ""}</span>
      <span class="sign" aria-hidden="true">${sign}</span><span class="hidden">${status === "open" ? "not ended" : status} </span>
      <span class="text">${outline.name(at)}</span>
      ${errors[at] ? html`<span class="error">${errors[at]}</span>` : null}
    </span>
    <span class="line" role="gridcell" aria-label=${outline.isCopied(at) ? "copied" : `after ${duration(start[at])}`}>${outline.isCopied(at)
      ? html`<span class="quiet small">copied</span>` : html`<span class="bar" style=${{
      left: `min(${(start[at] / outline.total) * 100}%, 100% - 2px)`, width: `${(took[at] / outline.total) * 100}%` }}></span>`}</span>
    <span class="number" role="gridcell">${used ? `${count(used[0] + used[1])} tokens` : ""}</span>
    <span class="number" role="gridcell">${duration(took[at])}</span>
  </div>`;
}

/** @param {{ outline: Outline, at: number, source: Source, actions?: (at: number) => any, run?: string }} props */
function Details({ outline, at, source, actions, run }) {
  const [found, setFound] = useState(/** @type {{ at: number, node: any, error: Error | null }} */ ({ at: -1, node: null, error: null }));
  const key = outline.columns.keys[at], status = outline.columns.status[at];
  useEffect(() => {
    let isOver = false;
    if (at > 0) {
      source.node(key).then(
        (node) => isOver || setFound({ at, node, error: null }),
        (error) => isOver || setFound({ at, node: null, error }),
      );
    }
    return () => { isOver = true; };
  }, [key, status, outline.columns.seq]);
  const { errors, tokens, start, took } = outline.columns;
  const used = tokens[at], node = found.at === at ? found.node : null;
  return html`<aside class="panel details" aria-label=${`The chosen node${run ? ` of ${run}` : ""}`}>
    <h2>${outline.name(at)}</h2>
    ${at ? html`<p class="quiet path">${outline.path(at)}</p>` : null}
    <dl class="facts">
      <div><dt>Status</dt><dd>${outline.status(at) === "open" ? "not ended" : outline.status(at)}</dd></div>
      <div><dt>Began after</dt><dd>${outline.isCopied(at) ? "copied from the original" : duration(start[at])}</dd></div>
      <div><dt>Took</dt><dd>${duration(took[at])}</dd></div>
      ${used ? html`<div><dt>Tokens</dt><dd>${count(used[0])} in, ${count(used[1])} out</dd></div>` : null}
      ${used?.[2] ? html`<div><dt>Cost</dt><dd>${money(used[2])}</dd></div>` : null}
    </dl>
    ${actions?.(at) ?? null}
    ${errors[at] ? html`<${Value} label="Error" value=${node?.error ?? errors[at]} />` : null}
    ${at === 0 ? html`<${Value} label="Input" value=${source.input} />` : null}
    ${found.at === at && found.error ? html`<p class="bad" role="alert">${found.error.message}</p>` : null}
    ${node ? html`<${Contents} node=${node} input=${outline.columns.parent[at] === 0 ? source.input : ""} />` : null}
  </aside>`;
}

/** @param {{ node: any, input: string }} props */
function Contents({ node, input }) {
  const asked = (node.input ?? []).map((/** @type {any} */ each) => asText(each.content)).join("\n\n");
  if (node.name === "model") {
    return html`
      ${node.outcome ? html`<section class="value"><h3>Answer</h3><${ModelAnswer} answer=${node.outcome} /></section>` : null}
      <${Request} agent=${node.agent} input=${asked || input} before=${node.before ?? []} />`;
  }
  return html`<${Value} label="Arguments" value=${node.asked} isExact=${true} /><${Value} label="Result" value=${node.outcome} />`;
}
