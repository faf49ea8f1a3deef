"""Answers with Markdown: what is shown of it, and that nothing else than text comes of the rest."""

from __future__ import annotations

import random
import re

import pytest
from playwright.sync_api import Page

from ui.conftest import OpenPage

SHOW = """async (texts) => {
  const base = document.querySelector("link[rel=stylesheet]").href.replace("app.css", "");
  const [{ Markdown }, { html }, { render }] =
    await Promise.all([import(base + "markdown.js"), import(base + "html.js"), import("preact")]);
  return texts.map((text) => {
    const place = document.createElement("div");
    const cite = (number) => number < 3 && html`<button>${number}</button>`;
    render(html`<${Markdown} text=${text} cite=${cite} />`, place);
    return place.firstChild.innerHTML;
  });
}"""
"""Return what texts become, as HTML."""
SHOW_IN_PAGE = SHOW.replace("const cite", "document.querySelector('main').append(place); const cite")
GAPS = """(all) => all.map((each) => {
  const text = document.createRange();
  text.selectNodeContents(each);
  return each.closest("ul, ol, blockquote").getBoundingClientRect().right - text.getBoundingClientRect().right;
})"""
"""Return how far texts end from the right edge of their list or quote."""
SHOWN = {
    "plain, on\ntwo lines": "<p>plain, on\ntwo lines</p>",
    "one\n\n\ntwo": "<p>one</p><p>two</p>",
    "*a* **b** ***c*** _d_ __e__ ~~f~~": (
        "<p><em>a</em> <strong>b</strong> <strong><em>c</em></strong> <em>d</em> <strong>e</strong> <del>f</del></p>"
    ),
    "**a *b* c** *d **e***": "<p><strong>a <em>b</em> c</strong> <em>d <strong>e</strong></em></p>",
    "2 * 3 * 4, snake_case_name, a ** b, *open": "<p>2 * 3 * 4, snake_case_name, a ** b, *open</p>",
    r"\*no\* `*a*` ``b ` c`` `open": "<p>*no* <code>*a*</code> <code>b ` c</code> `open</p>",
    "**a `**` b**": "<p><strong>a <code>**</code> b</strong></p>",
    "# A\n## B `c`\n#### D #\n#hash": (
        '<h2 class="title">A</h2><h2 class="title">B <code>c</code></h2><h2 class="title minor">D</h2><p>#hash</p>'
    ),
    "- a\n- b\n  - c\n    more\n- d": (
        "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c\nmore</p></li></ul></li><li><p>d</p></li></ul>"
    ),
    "Steps:\n1. a\n\n   b\n2. c\n\nend": (
        '<p>Steps:</p><ol start="1"><li><p>a</p><p>b</p></li><li><p>c</p></li></ol><p>end</p>'
    ),
    "in\n2026. That was": "<p>in\n2026. That was</p>",
    "3. c\n   - d\n4. e\n* f": (
        '<ol start="3"><li><p>c</p><ul><li><p>d</p></li></ul></li><li><p>e</p></li></ol><ul><li><p>f</p></li></ul>'
    ),
    "```py\nif a < b:\n    *c*\n```\nd": (
        '<pre class="code" tabindex="0"><span class="language">py</span><code>if a &lt; b:\n    *c*</code></pre>'
        "<p>d</p>"
    ),
    "- a\n  ```\n  b\n\n    c\n  ```": (
        '<ul><li><p>a</p><pre class="code" tabindex="0"><code>b\n\n  c</code></pre></li></ul>'
    ),
    "~~~~\n```\n~~~~": '<pre class="code" tabindex="0"><code>```</code></pre>',
    "```\nnot ended": '<pre class="code" tabindex="0"><code>not ended</code></pre>',
    "> a\n> - b\n\nc": "<blockquote><p>a</p><ul><li><p>b</p></li></ul></blockquote><p>c</p>",
    "a\n\n---\n\n* * *": "<p>a</p><hr><hr>",
    "| a | b |\n|---|:-:|\n| `x\\|y` | *z* |\nend": (
        '<div class="scroll"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
        "<tbody><tr><td><code>x|y</code></td><td><em>z</em></td></tr></tbody></table></div><p>end</p>"
    ),
    "[here](https://a.example/b_(c)_d) ![**it**](//x/y.png \"t\") <https://b.example>": (
        '<p>here <span class="quiet">(https://a.example/b_(c)_d)</span> '
        '<strong>it</strong> <span class="quiet">(//x/y.png)</span> https://b.example</p>'
    ),
    "[https://a.example](https://a.example) [x](javascript:alert(1)) [y](a\\_b)": (
        '<p>https://a.example x <span class="quiet">(javascript:alert(1))</span> [y](a_b)</p>'
    ),
    "so [1], and [2][9] `[1]`": "<p>so <button>1</button>, and <button>2</button>[9] <code>[1]</code></p>",
    '<b onclick="x()">&amp;</b> <!-- c -->': '<p>&lt;b onclick="x()"&gt;&amp;amp;&lt;/b&gt; &lt;!-- c --&gt;</p>',
    "a \ue000 `b`": "<p>a \ufffd <code>b</code></p>",
}  # fmt: skip
PIECES = [
    *"abcdefgh", "\n", "\n\n", " ", " ", "*", "**", "***", "_", "__", "~~", "`", "``", "[", "](", ")", "(", "]", "![",
    "\n- ", "\n  - ", "\n1. ", "\n   ", "\n> ", "\n# ", "\n```\n", "\n~~~\n", "|", "\n|", "\n|-|\n", "---", "\\",
    "<", ">", "https:", "[1]", "\ue000",
]  # fmt: skip
HARD = [
    "*a " * 20_000, "**a *b " * 10_000, "x" + "`" * 50_000 + "a" * 50_000, "` `` ``` " * 10_000, "[" * 50_000,
    "[a](" * 20_000, "> " * 20_000, "- " * 20_000, "-" * 100_000 + "x", ("|-" * 50_000 + "\n") * 2 + "x",
    "a\n" * 50_000, "- a\n" * 5_000, "_a_" * 20_000, "#" * 100_000, "# " * 50_000 + "x", "***a" * 20_000,
    "~~a" * 30_000, "\\" * 100_000, "```\n" * 5_000, "<https:" * 20_000, '![a](b "' * 20_000,
]  # fmt: skip
"""Texts of many signs that open something and end nothing."""


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()


def test_markdown_is_shown_and_all_else_is_text(page: Page):
    shown = [each.replace(' dir="auto"', "") for each in page.evaluate(SHOW, [*SHOWN])]
    assert dict(zip(SHOWN, shown, strict=True)) == SHOWN


def test_a_wide_table_is_scrolled_and_signs_stand_beside_their_text_from_right_to_left(page: Page):
    wide = "\n".join("|".join(["column"] * 30 if row != 1 else ["-"] * 30) for row in range(3))
    page.evaluate(SHOW_IN_PAGE, [wide])
    box = page.locator(".scroll")
    assert box.evaluate("each => each.scrollWidth > each.clientWidth")
    assert box.get_by_text("column").first.evaluate("each => each.offsetHeight") < 50  # one line
    hebrew = "- פריט\n- item\n\n> ציטוט\n\n1. ראשון\n2. שני"
    page.evaluate(SHOW_IN_PAGE, [hebrew])
    gaps = page.locator(".markdown p").evaluate_all(GAPS)
    assert len(gaps) == 5
    assert max(gaps) < 60


def test_no_word_of_a_text_is_lost_or_moved(page: Page):
    chance = random.Random(7)
    texts = ["".join(chance.choices(PIECES, k=chance.randrange(1, 40))) for _ in range(2_000)]
    shown = page.evaluate(SHOW.replace("innerHTML", "textContent"), texts)
    for text, found in zip(texts, shown, strict=True):
        assert re.sub(r"[^a-z]", "", found) == re.sub(r"[^a-z]", "", text), text


def test_a_text_that_opens_much_and_ends_nothing_is_read_at_once(page: Page):
    for text, shown in zip(HARD, page.evaluate(SHOW.replace("innerHTML", "textContent"), HARD), strict=True):
        assert shown.count("a") == text.count("a")
