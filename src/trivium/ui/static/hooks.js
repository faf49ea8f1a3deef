// Asking for what a view shows: once, or again and again.
import { useEffect, useRef, useState } from "preact/hooks";

/**
 * Return what a function gives, and its error. It is asked again when an input changes; an answer that comes after
 * that, or after a newer one was asked for, is dropped.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} act given what says that its answer is not wanted any more
 * @param {unknown[]} inputs
 * @param {number | ((value: T) => number)} pause milliseconds before it is asked again while the page is seen, longer
 *   where the function takes long; it may depend on the answer. 0: not again. What was found stays beside an error that
 *   comes later
 * @returns {{ value: T | null, error: Error | null, ask: () => void }}
 */
export function useAsked(act, inputs, pause = 0) {
  const [found, setFound] = useState(/** @type {{ value: T | null, error: Error | null }} */ ({ value: null, error: null }));
  const again = useRef(() => {});
  useEffect(() => {
    const control = new AbortController();
    let newest = 0, timer = 0, ms = pause ? 2000 : 0;
    const ask = async () => {
      clearTimeout(timer);
      if (pause && document.hidden) return;
      const asked = ++newest, began = performance.now();
      const answer = await act(control.signal).then((value) => {
        ms = typeof pause === "function" ? pause(value) : pause;
        return () => ({ value, error: null });
      },
        (error) => (/** @type {{ value: T | null }} */ { value }) => ({ value: pause ? value : null, error }));
      if (asked !== newest) return;
      setFound(answer);
      if (ms) timer = setTimeout(ask, Math.max(ms, 10 * (performance.now() - began)));
    };
    again.current = ask;
    ask();
    if (pause) document.addEventListener("visibilitychange", ask);
    return () => {
      newest = -1;
      control.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", ask);
    };
  }, inputs);
  return { ...found, ask: () => again.current() };
}
