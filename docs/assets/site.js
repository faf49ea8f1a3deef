// What the theme's script adds lacks: a button to copy is no landmark, and a table that scrolls can be reached by keys.
function complete() {
  for (const each of document.querySelectorAll(".md-code__nav:not([role])")) each.setAttribute("role", "none");
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) each.tabIndex = 0;
}
complete();
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
