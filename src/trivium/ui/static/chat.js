// A conversation: each turn is a run, of which the events are shown as they come.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { follow, get, post } from "./api.js";
import { asText, isActive, oneLine } from "./format.js";
import { Decide } from "./approvals.js";
import { Answer } from "./citations.js";
import { State } from "./run.js";
import { extend, newTurn } from "./transcript.js";

/** @typedef {import("./transcript.js").Turn} Turn */

/** @param {{ session: string, about: import("./app.js").About }} props */
export function Chat({ session, about }) {
  const [turns, setTurns] = useState(/** @type {Turn[] | null} */ (session ? null : []));
  const [program, setProgram] = useState(about.served[0].name);
  const [error, setError] = useState("");
  const control = useRef(new AbortController());

  /** @param {string} id */
  const watch = (id) => follow(id, (events) => setTurns((known) =>
    (known ?? []).map((each) => (each.id === id ? extend(each, events) : each))), control.current.signal)
    .catch((problem) => setError(problem.message));

  useEffect(() => {
    if (session) {
      get("/ui/runs", { session, limit: 1000 }).then(({ runs }) => {
        const known = runs.reverse();
        if (known.length) setProgram(known[known.length - 1].program);
        setTurns(known.map((/** @type {any} */ run) => newTurn(run.id, run.text)));
        for (const run of known) watch(run.id);
      }, (problem) => { setTurns([]); setError(problem.message); });
    }
    return () => control.current.abort();
  }, []);

  /** @param {string} text */
  const say = async (text) => {
    setError("");
    const named = session || `chat-${crypto.randomUUID().slice(0, 8)}`;
    try {
      const run = await post("/runs", { message: text, model: program, session_id: named });
      if (!session) {
        location.hash = `#/chat/${encodeURIComponent(named)}`;
        return true;
      }
      setTurns((known) => [...(known ?? []), newTurn(run.id, text)]);
      watch(run.id);
      return true;
    } catch (problem) {
      setError(/** @type {Error} */ (problem).message);
      return false;
    }
  };
  const last = turns?.[turns.length - 1];
  return html`<div class="chat">
    <div class="split">
      <h1>${session ? program : "Chat"}</h1>
      <div class="buttons">
        ${session || about.served.length < 2 ? null : html`<label>Talk to <select value=${program}
          onChange=${(/** @type {any} */ e) => setProgram(e.target.value)}>
          ${about.served.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`}
        ${session ? html`<a class="button" href="#/chat">New conversation</a>` : null}
      </div>
    </div>
    <${Turns} turns=${turns} program=${program} inspects=${about.inspects} />
    ${error ? html`<p class="bad" role="alert">${error}</p>` : null}
    <${Composer} onSay=${say} running=${last && (isActive(last.state) || last.state === "paused") ? last : null} />
  </div>`;
}

/** @param {{ turns: Turn[] | null, program: string, inspects: boolean }} props */
function Turns({ turns, program, inspects }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = box.current;
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [turns]);
  const onScroll = () => {
    const element = /** @type {HTMLDivElement} */ (box.current);
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
  };
  return html`<div class="turns" ref=${box} onScroll=${onScroll} tabindex="0" role="log" aria-label="Conversation">
    ${!turns ? html`<p class="quiet">Loading …</p>` : turns.length ? turns.map((turn) => html`<${OneTurn} key=${turn.id} turn=${turn}
      inspects=${inspects} />`)
      : html`<div class="empty"><p>Say something to <b>${program}</b>. Each answer is a run that you can look into.</p></div>`}
  </div>`;
}

/** @param {{ turn: Turn, inspects: boolean }} props */
function OneTurn({ turn, inspects }) {
  const last = turn.parts.findLast((each) => each.kind === "text");
  const said = turn.message?.content;
  const isSaid = last?.kind === "text" && last.text === said && !turn.message.attachments?.length;
  const isWhole = said !== undefined && said !== null && !isSaid;  // the message tells it better than its pieces
  const isWaiting = isActive(turn.state) && !turn.parts.length;
  return html`<div class="turn">
    <div class="user"><pre>${turn.text}</pre></div>
    <div class="agent stack">
      ${turn.parts.map((part) => part.kind === "tool" ? html`<${Tool} key=${part.key + part.kind} part=${part} state=${turn.state} />`
        : part.kind === "thought" ? html`<details key=${part.key + part.kind}><summary>Thoughts</summary><pre>${part.text}</pre></details>`
        : isWhole && part === last ? null : html`<pre key=${part.key + part.kind} class="text">${part.text}</pre>`)}
      ${isWhole ? html`<${Answer} message=${turn.message} runId=${turn.id} inspects=${inspects} />` : null}
      ${turn.approvals.map((call) => html`<${Decide} key=${call.digest} run=${{ id: turn.id, program: "x" }} call=${call} onDone=${() => {}} />`)}
      ${turn.error ? html`<p class="bad" role="alert">${turn.error}${inspects ? ". Look into this run to see where." : ""}</p>` : null}
      <p class="quiet small"><a href=${`#/run/${encodeURIComponent(turn.id)}`}>Look into this run</a>${" "}
        ${isWaiting ? html`<span class="dots" role="img" aria-label="thinking">···</span>` : html`<${State} state=${turn.state} />`}</p>
    </div>
  </div>`;
}

/** @param {{ part: import("./transcript.js").Used, state: string }} props */
function Tool({ part, state }) {
  const sign = part.error ? "✕" : part.result !== undefined ? "✓" : state === "paused" ? "‖" : isActive(state) ? "◐" : "–";
  return html`<details class="tool"><summary><span aria-hidden="true">${sign}</span> <b>${part.name}</b> <code>${oneLine(part.given, 80)}</code></summary>
    <h3>Arguments</h3><pre tabindex="0">${asText(part.given)}</pre>
    ${part.result !== undefined ? html`<h3>Result</h3><pre tabindex="0">${asText(part.result)}</pre>` : null}
    ${part.error ? html`<p class="bad">${part.error}</p>` : null}</details>`;
}

/** @param {{ onSay: (text: string) => Promise<boolean>, running: Turn | null }} props */
function Composer({ onSay, running }) {
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  const send = async () => {
    if (!text.trim() || isSending) return;
    setSending(true);
    if (await onSay(text)) setText("");
    setSending(false);
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  };
  return html`<form class="composer" onSubmit=${(/** @type {Event} */ e) => { e.preventDefault(); send(); }}>
    <textarea rows="2" aria-label="Message" placeholder=${running?.state === "paused" ? "It waits for your decision; Stop ends the run" : "Message (Enter sends, Shift+Enter is a new line)"} value=${text} autofocus
      onInput=${(/** @type {any} */ e) => setText(e.target.value)} onKeyDown=${onKey}></textarea>
    ${running ? html`<button type="button" class="danger"
      onClick=${() => post(`/runs/${encodeURIComponent(running.id)}/cancel`, {}).catch(() => {})}>Stop</button>`
      : html`<button class="main" disabled=${isSending || !text.trim()}>Send</button>`}
  </form>`;
}
