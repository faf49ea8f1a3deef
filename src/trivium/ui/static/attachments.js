// Files of a message: those that are to be sent, and those that were.
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { get } from "./api.js";
import { useAsked } from "./hooks.js";
import { Exact } from "./values.js";

/** @typedef {{ filename: string | null, mime_type: string, content?: string }} Attached its bytes as base64, where they are known */

/** @param {number} bytes */
export const size = (bytes) => (bytes < 999_500 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** @param {Attached[]} files @returns {number} their bytes */
export const sizeOf = (files) => files.reduce((sum, { content = "" }) => sum + Math.floor(content.replace(/=+$/, "").length * 0.75), 0);

/** @param {File} file @returns {Promise<Attached>} */
const read = (file) => new Promise((done, fail) => {
  const reader = new FileReader();
  reader.onload = () => done({
    filename: file.name, mime_type: file.type || "application/octet-stream", content: `${reader.result}`.split(",")[1] ?? "" });
  reader.onerror = () => fail(new Error(`${file.name} cannot be read.`));
  reader.readAsDataURL(file);
});

/**
 * The files that are to be sent with a message: those that fit, also those that are dropped anywhere.
 * @param {number} maxBytes of a request
 */
export function useFiles(maxBytes) {
  const [files, put] = useState(/** @type {Attached[]} */ ([]));
  const [problem, setProblem] = useState("");
  const most = Math.max(0, Math.floor(maxBytes * 0.00075 - 16) * 1000);  // in base64, and beside a text
  /** @param {{ files: FileList | null }} from */
  const take = async (from) => {
    const given = [...from.files ?? []], fit = [];
    let room = most - sizeOf(files);
    for (const each of given) {
      if (each.size > room) continue;
      room -= each.size;
      fit.push(each);
    }
    setProblem(fit.length < given.length ? `The files of a message have up to ${size(most)} together: what does not fit was left out.` : "");
    try {
      const found = await Promise.all(fit.map(read));
      put((known) => [...known, ...found]);
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message);
    }
  };
  useEffect(() => {
    /** @param {DragEvent} event */
    const onDrag = (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();  // else the browser opens what is dropped
      if (event.type === "drop") take(event.dataTransfer);
    };
    addEventListener("dragover", onDrag);
    addEventListener("drop", onDrag);
    return () => {
      removeEventListener("dragover", onDrag);
      removeEventListener("drop", onDrag);
    };
  });
  /** @param {Attached[] | ((known: Attached[]) => Attached[])} now */
  const setFiles = (now) => {
    put(now);
    setProblem("");
  };
  return { files, setFiles, take, problem, most };
}

/** A file, an image with what it shows. @param {{ file: Attached, children?: any }} props */
export function Attachment({ file: { filename, mime_type, content }, children }) {
  return html`<li>${mime_type.startsWith("image/") && html`<span class="thumb">${content && html`<img alt="" src=${`data:${mime_type};base64,${content}`} />`}</span>`}
    <span><${Exact} text=${filename || mime_type} /></span>${children}</li>`;
}

/** @param {{ run: string, at: number, file: Attached }} props */
function SentFile({ run, at, file }) {
  const { value } = useAsked(async () => (file.mime_type.startsWith("image/") ? get("/ui/file", { id: run, at }) : null), []);
  return html`<${Attachment} file=${{ ...file, content: value?.content }} />`;
}

/** The files of a run's message. @param {{ run: { id: string, files: Attached[] } }} props */
export function SentFiles({ run }) {
  return run.files.length ? html`<ul class="files">${run.files.map((file, at) => html`<${SentFile} key=${at} run=${run.id} at=${at} file=${file} />`)}</ul>` : null;
}
