"""Presentations: opened again and read, one for each session, and never outside their folder."""

# The limit on unsubmitted presentations is visible only in the table of the action.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pptx import Presentation

from trivium import Module
from trivium.actions import PPT, ActionExecutor, AsyncPPT, _slides
from trivium.exceptions import ConfigurationError, ToolError
from trivium.schema import ActionStatusCode, Message


def png(width: int = 40, height: int = 20) -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (width, height), "green").save(buffer, "PNG")
    return buffer.getvalue()


def fetched(url: str) -> bytes:
    """What stands at any address."""
    return png()


def texts(path: Path) -> list[list[str]]:
    """The texts of each page, as python-pptx reads them."""
    pages: Any = Presentation(str(path)).slides
    return [[shape.text_frame.text for shape in page.shapes if shape.has_text_frame] for page in pages]


def begun(folder: Path, **options: Any) -> PPT:
    ppt = PPT(folder=folder, **options)
    ppt.create_file("Default", "tea.pptx")
    return ppt


def test_a_presentation_is_written_page_by_page(tmp_path: Path) -> None:
    (tmp_path / "cup.png").write_bytes(png())
    ppt = begun(tmp_path / "out", images=tmp_path)
    assert ppt.add_first_page("Tea & 茶", "A <short> history") == {"status": "added page 1"}
    ppt.add_text_page("Kinds", "green [SPAN]black[SPAN] ")
    ppt.add_text_image_page("Cups", "from China", "cup.png")
    assert not (tmp_path / "out").exists()
    assert ppt.submit_file() == {"status": f"saved 3 pages as {tmp_path / 'out' / 'tea.pptx'}"}
    assert texts(tmp_path / "out" / "tea.pptx") == [
        ["Tea & 茶", "A <short> history"],
        ["Kinds", "green\nblack\n"],
        ["Cups", "from China"],
    ]


def test_an_image_fits_its_place(tmp_path: Path) -> None:
    for name, size in (("wide.png", (900, 30)), ("high.png", (30, 900))):
        (tmp_path / name).write_bytes(png(*size))
    ppt = begun(tmp_path, images=tmp_path)
    for name in ("wide.png", "high.png"):
        ppt.add_text_image_page("T", "x", name)
    ppt.submit_file()
    for page in Presentation(str(tmp_path / "tea.pptx")).slides:
        layout: Any = page.slide_layout.placeholders[2]
        picture: Any = next(shape for shape in page.shapes if not shape.has_text_frame)
        assert layout.left <= picture.left
        assert picture.left + picture.width <= layout.left + layout.width
        assert layout.top <= picture.top
        assert picture.top + picture.height <= layout.top + layout.height
        assert picture.width == layout.width or picture.height == layout.height


def test_the_async_twin_and_an_executor_do_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        ppt = AsyncPPT(folder=tmp_path)
        await ppt.create_file("Default", "a")
        await ppt({"title": "T", "bullet_items": "x"}, "add_text_page")
        await ppt("", "submit_file")

    asyncio.run(main())
    executor = ActionExecutor(PPT(folder=tmp_path))
    for api, parameters in (
        ("create_file", {"theme": "Default", "abs_location": str(tmp_path / "b.PPTX")}),
        ("add_text_page", {"title": "T", "bullet_items": "x"}),
        ("submit_file", {}),
    ):
        done = executor(Message(content={"name": f"PPT.{api}", "parameters": parameters})).content
        assert done.state is ActionStatusCode.SUCCESS
    assert texts(tmp_path / "a.pptx") == texts(tmp_path / "b.PPTX") == [["T", "x"]]


class Writer(Module):
    """Calls one of the methods in the session of the call."""

    def __init__(self, ppt: PPT) -> None:
        super().__init__()
        self.ppt = ppt

    def forward(self, message: Message) -> str:
        method, *arguments = message.content
        return getattr(self.ppt, method)(*arguments)["status"]


def test_each_session_writes_its_own(tmp_path: Path) -> None:
    writer = Writer(PPT(folder=tmp_path))
    for step in (("create_file", "Default", "{}"), ("add_text_page", "of {}", "x"), ("submit_file",)):
        for session in ("ada", "bob"):
            content = [part.format(session) for part in step]
            writer(Message(content=content, sender="user"), session_id=session)
    assert [texts(tmp_path / f"{name}.pptx") for name in ("ada", "bob")] == [[["of ada", "x"]], [["of bob", "x"]]]


def test_presentations_left_behind_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_slides, "MAX_DECKS", 2)
    writer = Writer(PPT(folder=tmp_path))
    for session in (1, 2, 2, 3):
        writer(Message(content=["create_file", "Default", f"{session}"], sender="user"), session_id=session)
    assert list(writer.ppt._decks) == [2, 3]


# ---- names
@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a secret, which nothing may touch; the presentations lie in a folder beside."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.png").write_bytes(png())
    (tmp_path / "deck").mkdir()
    (tmp_path / "deck" / "link").symlink_to(folder)
    (tmp_path / "deck" / "image.png").symlink_to(folder / "secret.png")
    (tmp_path / "deck" / "loop").symlink_to(tmp_path / "deck" / "loop")
    return folder


ESCAPES = [
    "../x.pptx", "../outside/x.pptx", "a/../../x.pptx", "/tmp/x.pptx", "/etc/passwd", "link/x.pptx", "../deck2/x",
    "a\0b", "a\nb", "x" * 300, "loop/x", "", "/", ".", "..", " \t", "\ud800", "a/" * 3000 + "x",
]  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES, ids=[repr(name[:20]) for name in ESCAPES])
def test_no_name_leads_out_of_the_folder(name: str, outside: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    ppt = PPT(folder=tmp_path / "deck", images=tmp_path / "deck")
    out = ppt({"theme": "Default", "abs_location": name}, "create_file")
    assert out.state is ActionStatusCode.API_ERROR
    assert "file" in str(out.errmsg)
    assert "call create_file first" in str(ppt("", "submit_file").errmsg)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["../outside/secret.png", "link/secret.png", "image.png", "{}/secret.png", "", "."])
def test_no_image_comes_from_outside(name: str, outside: Path, tmp_path: Path) -> None:
    ppt = begun(tmp_path / "deck", images=tmp_path / "deck")
    with pytest.raises(ToolError, match="files lie below"):
        ppt.add_text_image_page("T", "x", name.format(outside))


@given(name=st.text(st.sampled_from("./\\a~\0\n:%․"), max_size=12) | st.text(max_size=20))
@settings(deadline=None)
def test_any_name_is_taken_below_the_folder_or_refused(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "names"
    try:
        PPT(folder=folder).create_file("Default", name)
    except ToolError:
        return
    ppt = PPT(folder=folder)
    ppt.create_file("Default", name)
    assert ppt._decks[0].path.is_relative_to(folder.resolve())


def test_a_link_made_meanwhile_leads_nowhere(outside: Path, tmp_path: Path) -> None:
    ppt = PPT(folder=tmp_path / "deck")
    ppt.create_file("Default", "later/x.pptx")
    (tmp_path / "deck" / "later").symlink_to(outside)
    with pytest.raises(ToolError, match="files lie below"):
        ppt.submit_file()
    assert sorted(path.name for path in outside.iterdir()) == ["secret.png"]


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "tea.pptx").write_text("mine")
    with pytest.raises(ToolError, match=r"there is a file tea\.pptx already"):
        begun(tmp_path)
    (tmp_path / "tea.pptx").unlink()
    ppt = begun(tmp_path)
    (tmp_path / "tea.pptx").write_text("mine")
    with pytest.raises(ToolError, match="already"):
        ppt.submit_file()
    assert (tmp_path / "tea.pptx").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    ppt = PPT(folder=tmp_path)
    ppt.create_file("Default", "file/tea.pptx")
    with pytest.raises(ToolError, match="cannot be written"):
        ppt.submit_file()


# ---- images
def test_no_image_is_shown_where_none_may_be(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no images can be shown here"):
        begun(tmp_path).add_text_image_page("T", "x", "cup.png")


@pytest.mark.parametrize("image", ["http://x.example/a.png", "https://x/a.png", "file:///etc/passwd", "ftp://x/a.png"])
def test_addresses_are_refused(image: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="not from addresses"):
        begun(tmp_path, images=tmp_path).add_text_image_page("T", "x", image)


def test_addresses_go_through_the_given_function(tmp_path: Path) -> None:
    asked: list[str] = []

    async def fetch(url: str) -> bytes:
        asked.append(url)
        return png()

    ppt = begun(tmp_path, fetch_image=fetch)
    ppt.add_text_image_page("T", "x", "https://x.example/a.png")
    with pytest.raises(ToolError, match="not from addresses"):
        ppt.add_text_image_page("T", "x", "file:///etc/passwd")
    assert asked == ["https://x.example/a.png"]
    begun(tmp_path, fetch_image=fetched).add_text_image_page("T", "x", "http://x.example/a.png")


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"<svg/>", b"\x89PNG\r\n\x1a\n" + b"\0" * 30, None, "text"])
def test_what_is_no_image_is_refused(data: Any, tmp_path: Path) -> None:
    def fetch(url: str) -> Any:
        return data

    with pytest.raises(ToolError, match="image"):
        begun(tmp_path, fetch_image=fetch).add_text_image_page("T", "x", "http://x.example/a.png")


def test_a_huge_image_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_slides, "MAX_IMAGE_BYTES", 10)
    (tmp_path / "cup.png").write_bytes(png())
    with pytest.raises(ToolError, match="at most"):
        begun(tmp_path, images=tmp_path).add_text_image_page("T", "x", "cup.png")
    with pytest.raises(ToolError, match=r"there is no image other\.png"):
        begun(tmp_path, images=tmp_path).add_text_image_page("T", "x", "other.png")


# ---- the order of calls, themes and texts
def test_pages_need_a_presentation(tmp_path: Path) -> None:
    ppt = PPT(folder=tmp_path)
    for method, arguments in (
        ("add_first_page", {"title": "T", "subtitle": ""}),
        ("add_text_page", {"title": "T", "bullet_items": ""}),
        ("add_text_image_page", {"title": "T", "bullet_items": "", "image": "x"}),
        ("submit_file", {}),
    ):
        assert "call create_file first" in str(ppt(arguments, method).errmsg)
    ppt.create_file("Default", "tea")
    ppt.submit_file()
    with pytest.raises(ToolError, match="call create_file first"):
        ppt.submit_file()


def test_a_presentation_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_slides, "MAX_PAGES", 1)
    ppt = begun(tmp_path)
    ppt.add_text_page("T", "x")
    with pytest.raises(ToolError, match="1 pages, which is the most"):
        ppt.add_text_page("T", "x")


def test_themes_come_from_template_files(tmp_path: Path) -> None:
    made: Any = Presentation()
    made.slide_master.slide_layouts[5].name = "Just a title"
    made.save(str(tmp_path / "own.pptx"))
    own = {"template": str(tmp_path / "own.pptx"), "title": "Just a title", "single": "Blank", "two": "Nowhere"}
    ppt = PPT({"Own": own}, folder=tmp_path)
    with pytest.raises(ToolError, match="there is no theme 'Default'; there are Own"):
        ppt.create_file("Default", "x")
    ppt.create_file("Own", "x")
    ppt.add_first_page("T", "no place for this")
    ppt.add_text_page("no place for this", "nor this")
    ppt.submit_file()
    assert texts(tmp_path / "x.pptx") == [["T"], []]
    ppt.create_file("Own", "y")
    ppt._fetch_image = fetched
    ppt.add_text_image_page("T", "x", "http://x.example/")
    with pytest.raises(ConfigurationError, match="no layout 'Nowhere'; it has Title Slide, "):
        ppt.submit_file()


def test_a_theme_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'Half' lacks single, two"):
        PPT({"Half": {"template": None, "title": "x"}})
    (tmp_path / "no.pptx").write_text("no")
    for template in (tmp_path / "no.pptx", tmp_path / "gone.pptx", tmp_path):
        theme = {"template": str(template), "title": "", "single": "", "two": ""}
        ppt = PPT({"Bad": theme}, folder=tmp_path)
        ppt.create_file("Bad", "x")
        with pytest.raises(ConfigurationError, match="is no PPTX file"):
            ppt.submit_file()


@settings(deadline=None, max_examples=30)
@given(title=st.text(), items=st.text())
def test_any_text_can_stand_on_a_page(tmp_path_factory: pytest.TempPathFactory, title: str, items: str) -> None:
    folder = tmp_path_factory.mktemp("texts")
    ppt = begun(folder)
    ppt.add_first_page(title, items)
    ppt.add_text_page(title, items)
    ppt.submit_file()
    assert len(texts(folder / "tea.pptx")) == 2


def test_odd_characters_are_kept_or_marked(tmp_path: Path) -> None:
    ppt = begun(tmp_path)
    ppt.add_text_page("a\ud800b\0", "c\x0bd")
    ppt.submit_file()
    assert texts(tmp_path / "tea.pptx")[0][0].startswith("a?b")
