// What several views need: asking again and again, and asking once.
import { useEffect, useState } from "preact/hooks";

/**
 * Call a function now and after each pause, as long as the page is seen.
 * @param {() => Promise<unknown>} act
 * @param {number} ms the pause, longer where the function takes long; 0: once
 * @param {unknown[]} inputs it begins anew when one of them changes
 */
export function usePoll(act, ms, inputs) {
  useEffect(() => {
    let isOver = false, timer = 0;
    const next = async () => {
      const began = performance.now();
      if (!document.hidden) await act().catch(() => {});
      if (!isOver && ms) timer = setTimeout(next, Math.max(ms, 10 * (performance.now() - began)));
    };
    const seen = () => {
      if (!document.hidden && ms) {
        clearTimeout(timer);
        next();
      }
    };
    next();
    document.addEventListener("visibilitychange", seen);
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, inputs);
}

/**
 * Return what a function gives, and its error; it is asked again when an input changes.
 * @template T
 * @param {() => Promise<T>} act
 * @param {unknown[]} inputs
 * @returns {{ value: T | null, error: Error | null }}
 */
export function useAsked(act, inputs) {
  const [found, setFound] = useState(/** @type {{ value: T | null, error: Error | null }} */ ({ value: null, error: null }));
  useEffect(() => {
    let isOver = false;
    act().then(
      (value) => isOver || setFound({ value, error: null }),
      (error) => isOver || setFound({ value: null, error }),
    );
    return () => { isOver = true; };
  }, inputs);
  return found;
}
