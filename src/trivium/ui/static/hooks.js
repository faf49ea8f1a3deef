// Asking for what a view shows: once, or again and again.
import { useEffect, useRef, useState } from "preact/hooks";

/**
 * Return what a function gives, and its error. It is asked again when an input changes; an answer that comes after
 * that, or after a newer one was asked for, is dropped.
 * @template T
 * @param {() => Promise<T>} act
 * @param {unknown[]} inputs
 * @param {number} ms the pause before it is asked again while the page is seen, longer where the function takes long,
 *   0: once; what was found stays beside an error that comes later
 * @returns {{ value: T | null, error: Error | null, ask: () => void }}
 */
export function useAsked(act, inputs, ms = 0) {
  const [found, setFound] = useState(/** @type {{ value: T | null, error: Error | null }} */ ({ value: null, error: null }));
  const again = useRef(() => {});
  useEffect(() => {
    let newest = 0, timer = 0;
    const ask = async () => {
      clearTimeout(timer);
      if (ms && document.hidden) return;
      const asked = ++newest, began = performance.now();
      const answer = await act().then((value) => () => ({ value, error: null }),
        (error) => (/** @type {{ value: T | null }} */ { value }) => ({ value: ms ? value : null, error }));
      if (asked !== newest) return;
      setFound(answer);
      if (ms) timer = setTimeout(ask, Math.max(ms, 10 * (performance.now() - began)));
    };
    again.current = ask;
    ask();
    if (ms) document.addEventListener("visibilitychange", ask);
    return () => {
      newest = -1;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", ask);
    };
  }, inputs);
  return { ...found, ask: () => again.current() };
}
