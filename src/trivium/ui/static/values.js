// Values, messages and answers of a run.
import { html } from "./html.js";
import { asText, oneLine, toolName } from "./format.js";

const LONG = 4000;
const SPACE = "[\\n\\t \\u00a0\\u202f]";
const JOINED_EMOJI = "(?<=\\p{ExtPict}[\\ufe0f\\p{EMod}]?)\\u200d(?=\\p{ExtPict})";
const UNSEEN = new RegExp(`((?!${SPACE}|${JOINED_EMOJI})[\\p{C}\\p{Z}])`, "u");

/** A text with an escape for each character that is not seen, or that reorders others. @param {{ text: string }} props */
export function Exact({ text }) {
  return text.split(UNSEEN).map((part, at) => at % 2 ? html`<code class="escape">\\u{${part.codePointAt(0)?.toString(16)}}</code>` : part);
}

/** @param {{ value: unknown, label: string, isExact?: boolean }} props */
export function Value({ value, label, isExact }) {
  if (value === null || value === undefined || value === "") return null;
  const text = asText(value);
  const shown = (/** @type {string} */ part) => (isExact ? html`<${Exact} text=${part} />` : part);
  return html`<section class="value">
    <h3>${label}</h3>
    ${text.length > LONG ? html`<details><summary>${shown(text.slice(0, LONG))}… <b>all ${text.length.toLocaleString()} characters</b></summary>
      <pre tabindex="0">${shown(text)}</pre></details>` : html`<pre tabindex="0">${shown(text)}</pre>`}
  </section>`;
}

/** @typedef {{ text?: string, tool_calls?: { name: string, arguments: string }[], reasoning?: string }} Answer */

/** @param {{ answer: Answer }} props */
export function ModelAnswer({ answer }) {
  return html`
    ${answer.reasoning ? html`<details><summary>Thoughts</summary><pre tabindex="0">${answer.reasoning}</pre></details>` : null}
    ${answer.text ? html`<pre tabindex="0">${answer.text}</pre>` : null}
    ${(answer.tool_calls ?? []).map((call) => html`<p class="call"><b>${call.name}</b> <code><${Exact} text=${oneLine(call.arguments)} /></code></p>`)}`;
}

/** @typedef {{ key: string, name: string, outcome?: any, error?: string }} Before */

/**
 * Show what a model was told: its instruction, the input, and what models and tools had answered before.
 * @param {{ agent: any, input: string, before: Before[] }} props
 */
export function Request({ agent, input, before }) {
  const instruction = agent?.instruction?.length ? agent.instruction : null;
  return html`<section class="value">
    <h3>Request</h3>
    <ol class="said">
      ${instruction ? html`<li><span class="role">system</span><pre tabindex="0">${asText(instruction.length === 1
        ? instruction[0].content ?? instruction[0] : instruction)}</pre></li>` : null}
      ${input ? html`<li><span class="role">user</span><pre tabindex="0">${input}</pre></li>` : null}
      ${before.map((each) => html`<li key=${each.key}><span class="role">${toolName(each.name)}</span>
        ${each.error ? html`<pre class="bad" tabindex="0">${each.error}</pre>`
          : each.name === "model" ? html`<div><${ModelAnswer} answer=${each.outcome} /></div>`
          : html`<pre tabindex="0">${asText(each.outcome)}</pre>`}</li>`)}
    </ol>
    ${agent ? html`<details><summary>Model and tools</summary><p>${asText(agent.model)}</p>
      <ul>${Object.entries(agent.tools ?? {}).map(([name, made]) => html`<li key=${name}><b>${name}</b> ${oneLine(
        Array.isArray(made) ? made[0] : made)}</li>`)}</ul></details>` : null}
  </section>`;
}
