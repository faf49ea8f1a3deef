"""The style and the script of the report; its security policy names their hashes."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light; --line: #c8ccd2; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 110rem; color: #1b1f24; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; }
td, bdi { white-space: pre-line; }
.wide { overflow-x: auto; }
.sides { display: grid; grid-template-columns: minmax(20rem, 2fr) 3fr; gap: 1rem; align-items: start; }
.values { width: 100%; } .values td:last-child { white-space: nowrap; }
.document { max-height: 92vh; overflow: auto; border: 1px solid var(--line); background: #f4f5f7; }
.document pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; padding: .8rem; background: #fff; }
figure { margin: 0 0 .6rem; } figcaption { padding: .2rem .5rem; }
svg { display: block; width: 100%; background: #fff; }
rect { fill: #ffd54a; fill-opacity: .35; stroke: #8a6100; stroke-width: .8; }
mark, rect { scroll-margin: 30vh 0; }
mark { background: #ffe38a; }
rect:target { fill: #ff7a1a; fill-opacity: .45; stroke: #9a3412; stroke-width: 2; }
mark:target { background: #ffab5c; outline: 2px solid #9a3412; }
.refused { background: #fde8e8; } .doubtful { background: #fff4d6; } .not-stated { color: #57606a; }
.remark { display: block; color: #57606a; font-size: .87em; }
a { color: #0b57d0; } :focus-visible { outline: 3px solid #0b57d0; outline-offset: 1px; }
kbd { border: 1px solid var(--line); border-radius: 3px; padding: 0 .3em; }
@media (max-width: 60rem) { .sides { grid-template-columns: 1fr; } }
@media print { .document { max-height: none; } }
"""

SCRIPT = """
const values = [...document.querySelectorAll('.value')];
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const step = {j: 1, k: -1}[event.key];
  if (event.key === 't') document.getElementById('all').focus();
  if (!step || !values.length) return;
  const at = values.indexOf(document.activeElement);
  const next = values[at < 0 ? 0 : Math.min(values.length - 1, Math.max(0, at + step))];
  next.focus();
  if (next.hash) { location.replace(next.hash); next.focus({preventScroll: true}); }
});
"""
