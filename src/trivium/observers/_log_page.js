document.addEventListener("DOMContentLoaded", () => {
  const find = (selector) => [...document.querySelectorAll(selector)];
  const main = document.createElement("main"), runs = new Map();
  function run(at) {
    if (!runs.has(at)) {
      const box = document.createElement("details"), cut = at.lastIndexOf("/");
      box.className = "run";
      box.open = true;
      box.append(document.createElement("summary"));
      (cut < 0 ? main : run(at.slice(0, cut))).append(box);
      runs.set(at, box);
    }
    return runs.get(at);
  }
  for (const each of find("body > [data-at]")) {
    const box = run(each.dataset.at);
    if (each.matches(".entry")) box.append(each);
    else {
      const text = document.createElement("span");
      text.className = each.classList[0];
      text.append(...each.childNodes);
      box.firstChild.append(text, " ");
      each.remove();
    }
  }
  for (const box of runs.values()) if (!box.firstChild.hasChildNodes()) box.firstChild.append("outside a run");
  document.body.append(main);

  const entries = find(".entry"), said = new Map(entries.map((each) => [each, each.textContent.toLowerCase()]));
  const box = document.getElementById("filter"), tries = document.getElementById("tries");
  function filter() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, all = 0;
    for (const each of entries) {
      const counts = tries.checked || !each.matches(".try");
      each.hidden = !words.every((word) => said.get(each).includes(word));
      all += counts;
      shown += counts && !each.hidden;
    }
    const kept = tries.checked ? ".entry:not([hidden])" : ".entry:not([hidden], .try)";
    for (const each of runs.values()) each.hidden = words.length > 0 && !each.querySelector(kept);
    document.getElementById("count").textContent = words.length ? `${shown} of ${all} entries` : `${all} entries`;
  }
  const fold = (open) => () => find(".entry").forEach((each) => { each.open = open; });
  box.addEventListener("input", filter);
  tries.addEventListener("change", filter);
  document.getElementById("unfold").addEventListener("click", fold(true));
  document.getElementById("fold").addEventListener("click", fold(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); }
  });
  filter();
});
