// The page: what the address says is shown.
import { render } from "preact";
import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { html } from "./html.js";
import { changes, forget, get, hasToken, isOnline, setToken, token } from "./api.js";
import { Approvals } from "./approvals.js";
import { Chat } from "./chat.js";
import { Compare } from "./compare.js";
import { Run } from "./run.js";
import { Runs } from "./runs.js";
import { useAsked } from "./hooks.js";

/**
 * @typedef {{
 *   served: { name: string, root: string }[], owner: string, inspects: boolean, reports: { name: string, place: string }[], deciders: string[],
 *   max_bytes: number,
 * }} About
 */

const address = signal(location.hash);
const about = signal(/** @type {About | null} */ (null));

/** Take a token out of the address, where the command line has put it, so that it is not left in the history. */
function takeToken() {
  const given = /^#token=(.+)$/.exec(location.hash);
  if (given) {
    setToken(decoded(given[1]));
    history.replaceState(null, "", location.pathname);
  }
  address.value = location.hash;
}
addEventListener("hashchange", takeToken);
takeToken();

/** @param {string} part of an address that anybody may have written */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function TokenForm() {
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    setToken(`${new FormData(form).get("token") ?? ""}`.trim());
  };
  return html`<main class="center" id="main">
    <form class="card stack" onSubmit=${submit}>
      <h1>Token</h1>
      <p>This server wants a token. <code>trivium serve</code> shows it, with an address that has it, where it starts.</p>
      <label>Token <input name="token" type="password" autocomplete="current-password" required autofocus /></label>
      ${token.value === null && hasToken() ? html`<p class="bad" role="alert">The token that
        this browser knows is not that of the server.</p>` : null}
      <button class="main">Go on</button>
    </form>
  </main>`;
}

/** @typedef {{ value: any[] | null, error: Error | null, ask: () => void }} Paused the runs that wait for this user */

/** @param {{ parts: string[], about: About, paused: Paused }} props */
function View({ parts, about, paused }) {
  const [problem, reset] = useErrorBoundary();
  useEffect(reset, [parts.join("/")]);
  const [view, first, second] = parts;
  if (problem) {
    return html`<div class="center stack"><p class="bad" role="alert">This view cannot be shown: ${`${problem}`}</p>
      <button onClick=${() => location.reload()}>Load again</button></div>`;
  }
  if (view === "run" && first) return html`<${Run} key=${first} id=${first} node=${second ?? ""} about=${about} />`;
  if (view === "chat" && about.served.length) return html`<${Chat} key=${first ?? ""} session=${first ?? ""} about=${about} />`;
  if (view === "approvals") return html`<${Approvals} paused=${paused} about=${about} />`;
  if (view === "compare") return html`<${Compare} first=${first ?? ""} second=${second ?? ""} />`;
  if (view === "report" && about.reports.length) return html`<${Report} reports=${about.reports} at=${Number(first ?? 0)} />`;
  if (view && view !== "runs") return html`<div class="center stack"><h1>No such page</h1><a href="#/">All runs</a></div>`;
  return html`<${Runs} about=${about} state=${first ?? ""} search=${second ?? ""} />`;
}

/** @param {{ reports: About["reports"], at: number }} props */
function Report({ reports, at }) {
  const { name, place } = reports[at] ?? reports[0];
  return html`<div class="stack report"><div class="split"><h1>${name}</h1><div class="buttons">
    ${reports.length > 1 ? reports.map((each, number) => html`<a key=${each.place} class="button" aria-current=${number === at ? "page" : undefined}
      href=${`#/report/${number}`}>${each.name}</a>`) : null}</div></div>
    <iframe src=${`.${place}`} title=${name} sandbox="allow-scripts"></iframe></div>`;
}

const NAMES = { "": "Runs", chat: "Chat", approvals: "Approvals", report: "Report" };

function App() {
  useEffect(() => {
    if (token.value === null) return;
    get("/ui/about").then((found) => (about.value = found), () => {});
  }, [token.value, isOnline.value]);
  const paused = useAsked(async () => (about.value ? (await get("/ui/approvals")).runs : null), [about.value, changes.value], 2000);
  const waiting = paused.value?.length;
  const parts = address.value.replace(/^#\/?/, "").split("/").map(decoded);
  const known = about.value;
  const name = parts[0] === "run" ? `Run ${parts[1]}` : parts[0] === "compare" ? "Compare" : NAMES[/** @type {""} */ (parts[0])] ?? "Runs";
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${name} · trivium`;
    if (!isFirst.current) scrollTo(0, 0);
    // What led here is gone with its view: the keyboard goes on at the new one, and a screen reader says its name.
    if (!isFirst.current && document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [name]);
  if (token.value === null) return html`<${TokenForm} />`;
  const here = parts[0] in NAMES ? parts[0] : "";
  return html`
    <a class="skip" href="#main" onClick=${(/** @type {Event} */ e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>
      To the content</a>
    <header>
      <a class="brand" href="#/"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M8 1.5 15 14H1Z" /></svg>trivium</a>
      <nav aria-label="Views">
        ${Object.entries(NAMES).map(([name, words]) => (
          (name === "chat" && known && !known.served.length) || (name === "report" && !known?.reports.length) ? null : html`
          <a key=${name} href=${`#/${name}`} aria-current=${here === name ? "page" : undefined}>${words}
            ${name === "approvals" && waiting ? html` <span class="badge">${waiting}
              <span class="hidden"> waiting</span></span>` : null}</a>`))}
      </nav>
      ${known?.owner ? html`<span class="quiet owner">${known.owner}</span>` : null}
      ${token.value ? html`<button class="plain" onClick=${forget}>Forget token</button>` : null}
    </header>
    <div role="status" class="notice" hidden=${isOnline.value}>The server does not answer; trying again …</div>
    ${known ? html`<main id="main" tabindex="-1" aria-label=${name}><${View} parts=${parts} about=${known} paused=${paused} /></main>`
      : html`<main id="main" class="center"><p class="quiet">${isOnline.value ? "Loading …" : ""}</p></main>`}`;
}

render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
