"""Slides: presentations that a model writes page by page, saved as PPTX files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from trivium.actions._action import BaseAction, BaseParser, JsonParser, tool_api
from trivium.actions._dual import AsyncActionMixin, dual
from trivium.actions._texts import sendable
from trivium.commander import driver_neutral, invoke, this_session
from trivium.exceptions import ConfigurationError, MissingExtraError, ToolError
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from pptx.presentation import Presentation

SEPARATOR = "[SPAN]"
MAX_DECKS, MAX_PAGES, MAX_IMAGE_BYTES = 1000, 200, 5 << 20
THEMES = {
    "Default": {"template": None, "title": "Title Slide", "single": "Title and Content", "two": "Two Content"},
}


class _Page(NamedTuple):
    layout: str
    title: str
    lines: tuple[str, ...]
    image: bytes | None = None


@dataclass
class _Deck:
    """A presentation until it is saved."""

    theme: str
    path: Path
    pages: list[_Page] = field(default_factory=list[_Page])


class PPT(BaseAction):
    """Write a presentation: create it, add its pages one by one, and submit it at the end.

    Each session writes one presentation at a time. Files are written below one folder, and no existing file is
    replaced. Images come from one folder too: a model cannot name other files or addresses.

    Args:
        theme_mapping: themes by name: `template`, a PPTX file or None for the usual one, and the names of its
            layouts for a `title` page, for a page with a `single` body, and for one with `two`.
        description: replaces the docstring's description; see `BaseAction`.
        parser: parses arguments and renders results.
        folder: the folder for presentations; created with the first.
        images: the folder of images; default: images are refused.
        fetch_image: returns the bytes of an image at an http(s) address, `def` or `async def`; it should
            refuse private addresses. Default: addresses are refused.

    Raises:
        ConfigurationError: a theme lacks an entry, or there is none.

    Example::

        ppt = PPT(folder="out")
        ppt.create_file("Default", "tea.pptx")
        ppt.add_first_page("Tea", "A short history")
        ppt.add_text_page("Kinds", "green[SPAN]black")
        ppt.submit_file()
    """

    @checked
    def __init__(
        self,
        theme_mapping: Mapping[str, Mapping[str, Any]] | None = None,
        description: Mapping[str, Any] | None = None,
        parser: type[BaseParser] = JsonParser,
        *,
        folder: str | Path = "slides",
        images: str | Path | None = None,
        fetch_image: Callable[[str], Any] | None = None,
    ) -> None:
        super().__init__(description, parser)
        given = theme_mapping or THEMES
        if not all(isinstance(name, str) and isinstance(theme, Mapping) for name, theme in given.items()):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("theme_mapping is a dict of themes by name, each a dict with template and layouts")
        self.theme_mapping = {name: dict(theme) for name, theme in given.items()}
        for name, theme in self.theme_mapping.items():
            missing = [key for key in THEMES["Default"] if key not in theme]
            if missing:
                raise ConfigurationError(f"the theme '{name}' lacks {', '.join(missing)}")
        self.folder = _folder(folder)
        self.images = None if images is None else _folder(images)
        self._fetch_image = fetch_image
        self._decks: dict[Hashable, _Deck] = {}

    @dual
    @tool_api(explode_return=True)
    @driver_neutral
    async def create_file(self, theme: str, abs_location: str) -> dict[str, str]:
        """Begin a presentation; an unsubmitted presentation of this session is discarded.

        Args:
            theme: the name of the theme, for example Default.
            abs_location: the name of the file, for example tea.pptx.

        Returns:
            status (str): what was done.
        """
        if theme not in self.theme_mapping:
            raise ToolError(f"there is no theme '{theme}'; there are {', '.join(self.theme_mapping)}", self.name)
        path = await invoke(self._free_path, abs_location)
        self._decks.pop(this_session(), None)
        if len(self._decks) >= MAX_DECKS:  # one was abandoned: discard the oldest
            self._decks.pop(next(iter(self._decks)))
        self._decks[this_session()] = _Deck(theme, path)
        return {"status": f"began {path.name}: add its pages, then call submit_file"}

    @dual
    @tool_api(explode_return=True)
    @driver_neutral
    async def add_first_page(self, title: str, subtitle: str) -> dict[str, str]:
        """Add the first page of the presentation.

        Args:
            title: its title.
            subtitle: what stands below.

        Returns:
            status (str): what was done.
        """
        return self._add(_Page("title", title, (subtitle,) if subtitle else ()))

    @dual
    @tool_api(explode_return=True)
    @driver_neutral
    async def add_text_page(self, title: str, bullet_items: str) -> dict[str, str]:
        """Add a page of text.

        Args:
            title: its title.
            bullet_items: its items, separated by [SPAN].

        Returns:
            status (str): what was done.
        """
        return self._add(_Page("single", title, _items(bullet_items)))

    @dual
    @tool_api(explode_return=True)
    @driver_neutral
    async def add_text_image_page(self, title: str, bullet_items: str, image: str) -> dict[str, str]:
        """Add a page of text with an image beside it.

        Args:
            title: its title.
            bullet_items: its items, separated by [SPAN].
            image: the name of the image's file.

        Returns:
            status (str): what was done.
        """
        self._deck()
        if "://" not in image:
            data = await invoke(self.read_image, image)
        elif self._fetch_image is None or not image.startswith(("http://", "https://")):
            raise ToolError("images come from files here, not from addresses: name a file", self.name)
        else:
            data = await invoke(self._fetch_image, image)
        await invoke(self.check_image, data)
        return self._add(_Page("two", title, _items(bullet_items), data))

    @dual
    @tool_api(explode_return=True)
    @driver_neutral
    async def submit_file(self) -> dict[str, str]:
        """Save the presentation; nothing is saved before.

        Returns:
            status (str): where it is.
        """
        deck = self._deck()
        await invoke(self._save, deck)
        self._decks.pop(this_session(), None)
        return {"status": f"saved {len(deck.pages)} pages as {deck.path}"}

    def _deck(self) -> _Deck:
        deck = self._decks.get(this_session())
        if deck is None:
            raise ToolError("there is no presentation yet: call create_file first", self.name)
        return deck

    def _add(self, page: _Page) -> dict[str, str]:
        pages = self._deck().pages
        if len(pages) >= MAX_PAGES:
            raise ToolError(f"the presentation has {MAX_PAGES} pages, which is the most: call submit_file", self.name)
        pages.append(page)
        return {"status": f"added page {len(pages)}"}

    def _free_path(self, location: str) -> Path:
        path = self._below(self.folder, location if location.lower().endswith(".pptx") else f"{location}.pptx")
        if path.name.startswith("."):
            raise ToolError("the name of the file is missing: give one, such as tea.pptx", self.name)
        if path.exists():
            raise ToolError(f"there is a file {path.name} already: choose another name", self.name)
        return path

    def _below(self, folder: Path, name: str) -> Path:
        """The place of a file in a folder, whatever links lie on the way."""
        try:
            path = (folder / name).resolve()
            path.exists()  # fails for what no file can be called
            is_loop = any(each.is_symlink() for each in (path, *path.parents))  # an error before Python 3.13
        except (ValueError, OSError, RuntimeError):
            path, is_loop = None, True
        if path is None or is_loop or not name.isprintable():
            raise ToolError("this cannot be the name of a file: give a plain one", self.name)
        if not path.is_relative_to(folder) or path == folder:
            raise ToolError(f"files lie below {folder} here: give a name without a folder", self.name)
        return path

    def read_image(self, name: str) -> bytes:
        """Read an image from the folder of images.

        Raises:
            ToolError: it cannot be read, or lies elsewhere.
        """
        if self.images is None:
            raise ToolError("no images can be shown here: use add_text_page", self.name)
        path = self._below(self.images, name)
        try:
            if not path.is_file():
                raise ToolError(f"there is no image {name}: name a file below {self.images}", self.name)
            with path.open("rb") as file:
                return file.read(MAX_IMAGE_BYTES + 1)
        except (OSError, ValueError) as error:
            raise ToolError(f"the image {name} cannot be read ({type(error).__name__})", self.name) from None

    def check_image(self, data: object) -> None:
        """Check that these are the bytes of an image of a known format.

        Raises:
            ToolError: they are not, or too many.
        """
        if not isinstance(data, bytes) or len(data) > MAX_IMAGE_BYTES:
            raise ToolError(f"an image has at most {MAX_IMAGE_BYTES >> 20} MB: take a smaller one", self.name)
        _import_pptx()
        from pptx.parts.image import Image

        try:
            Image.from_blob(data).ext  # noqa: B018 - reads the head of the image
        except Exception:  # whatever a decoder raises
            raise ToolError("this is no image: name a PNG, JPEG, GIF, BMP or TIFF file", self.name) from None

    def _save(self, deck: _Deck) -> None:
        theme = self.theme_mapping[deck.theme]
        presentation = open_template(theme["template"])
        for page in deck.pages:
            _write(presentation, theme[page.layout], page)
        buffer = BytesIO()
        presentation.save(buffer)
        path = self._free_path(str(deck.path))  # once more: links may have changed since
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._below(self.folder, str(path)).open("xb") as file:
                file.write(buffer.getbuffer())
        except OSError as error:
            raise ToolError(
                f"{path.name} cannot be written ({error.strerror}): choose another name", self.name
            ) from None


class AsyncPPT(AsyncActionMixin, PPT):
    """A `PPT` whose call and methods give a coroutine."""


def _folder(given: str | Path) -> Path:
    try:
        return Path(given).resolve()
    except (ValueError, OSError):
        raise ConfigurationError("this cannot be the name of a folder: give a plain path") from None


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(SEPARATOR))


def _import_pptx() -> Any:
    try:
        import pptx
    except ImportError:
        raise MissingExtraError("python-pptx", "slides") from None
    return pptx


def open_template(template: str | None) -> Presentation:
    """Open a template; None: the default one.

    Raises:
        ConfigurationError: it is no PPTX file.
    """
    pptx = _import_pptx()
    try:
        return pptx.Presentation(template)
    except (pptx.exc.PythonPptxError, OSError, ValueError, KeyError):
        raise ConfigurationError(f"the template {template} is no PPTX file") from None


def _write(presentation: Presentation, layout_name: str, page: _Page) -> None:
    layouts = presentation.slide_master.slide_layouts
    layout = layouts.get_by_name(layout_name)
    if layout is None:
        names = ", ".join(each.name for each in layouts)
        raise ConfigurationError(f"the template has no layout '{layout_name}'; it has {names}")
    slide = presentation.slides.add_slide(layout)
    title = slide.shapes.title
    if title is not None:
        title.text = sendable(page.title)
    bodies = [cast("Any", each) for each in slide.placeholders if title is None or each.shape_id != title.shape_id]
    if bodies and page.lines:
        bodies[0].text_frame.text = "\n".join(map(sendable, page.lines))
    if page.image is not None:
        place_image(slide.shapes, bodies[-1] if len(bodies) > 1 else None, page.image)


def place_image(shapes: Any, body: Any, data: bytes) -> None:
    """Replace a body by an image in its middle, as large as fits."""
    picture = shapes.add_picture(BytesIO(data), 0, 0)
    if body is None:
        return
    scale = min(body.width / picture.width, body.height / picture.height)
    width, height = int(picture.width * scale), int(picture.height * scale)
    picture.left, picture.top = body.left + (body.width - width) // 2, body.top + (body.height - height) // 2
    picture.width, picture.height = width, height
    body.element.getparent().remove(body.element)
