"""PDF pages as text in reading order, and the boxes of their characters; PDFs that would take too much."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from time import monotonic
from typing import Any

import pypdfium2  # pyright: ignore[reportMissingTypeStubs]
import pytest

from parsing._pdf import Placed, pdf, pdf_file, placed_pdf
from trivium.exceptions import DocumentLimitError, UnreadableDocumentError
from trivium.parsing import Box, PagedDocument, PageLayout, ReadLimits, locate, read
from trivium.parsing._boxes import Run
from trivium.parsing.formats._formats import Original, Scanning
from trivium.parsing.formats._pdf import parse_pdf

pytestmark = pytest.mark.usefixtures("forked_processes")


def read_pdf(folder: Path, data: bytes, limits: ReadLimits | None = None) -> PagedDocument:
    path = folder / "a.pdf"
    path.write_bytes(data)
    document = read(path, limits=limits)
    assert isinstance(document, PagedDocument)
    return document


def column(x: float, top: float, texts: str, step: float = 12) -> list[Placed]:
    return [(x, top - step * number, text) for number, text in enumerate(texts.split("|"))]


PROSE = (
    "The first column has several|lines of words that run from|one side to the other, and|they go on below each other|"
    "here."
)
PROSE_2 = (
    "After them comes the second|column, which a reader begins|only when the first has come|to its end, at the foot|"
    "of it."
)

PAGES: list[tuple[str, list[Placed], str]] = [
    (
        "keys and values, which the file has apart",
        [*column(300, 700, "4711|1 March 2024|99,50 EUR"), *column(72, 700, "Invoice number:|Date:|Total:")],
        "Invoice number:   4711\nDate:   1 March 2024\nTotal:   99,50 EUR",
    ),
    (
        "a table, written column by column",
        [*column(72, 700, "Pos|1|2"), *column(110, 700, "Goods|Apples|Pears"), *column(300, 700, "Price|3,00|4,50")],
        "Pos   Goods   Price\n1   Apples   3,00\n2   Pears   4,50",
    ),
    (
        "a cell of several lines",
        [
            *column(72, 700, "1"),
            *column(110, 700, "A long name|of some goods"),
            *column(300, 700, "3,00"),
            *column(72, 660, "2"),
            *column(110, 660, "Pears"),
            *column(300, 660, "4,50"),
        ],
        "1   A long name of some goods   3,00\n\n2   Pears   4,50",
    ),
    (
        "rows without a value are no further lines of the row before",
        [*column(72, 700, "Rent|Heating|Water"), *column(200, 700, "1"), *column(300, 700, "900")],
        "Rent   1   900\nHeating\nWater",
    ),
    (
        "numbers are no further lines of numbers",
        [*column(72, 700, "a|b"), *column(200, 700, "5|6"), *column(300, 700, "7"), *column(400, 700, "9,00|8,00")],
        "a   5   7   9,00\nb   6   8,00",
    ),
    (
        "two columns of prose below a title",
        [
            (72, 740, "A title that stands above both of the columns, from side to side, as titles often do it here"),
            *column(320, 720, PROSE_2),
            *column(72, 720, PROSE),
        ],
        "A title that stands above both of the columns, from side to side, as titles often do it here\n"
        + f"{PROSE}||{PROSE_2}".replace("|", "\n"),
    ),
    (
        "an address beside a block with other lines",
        [
            *column(72, 700, "Ada Ltd|Main Street 1|12345 Town|Country"),
            *column(350, 705, "Invoice 17|by Ada|for Bob|of May"),
        ],
        "Ada Ltd\nMain Street 1\n12345 Town\nCountry\n\nInvoice 17\nby Ada\nfor Bob\nof May",
    ),
    (
        "a table below them, and sums beside notes",
        [
            *column(72, 700, "Ada Ltd|Main Street 1|12345 Town|Country"),
            *column(350, 705, "Invoice 17|by Ada|for Bob|of May"),
            *column(72, 640, "Apples|Pears"),
            *column(350, 640, "2 kg|1 kg"),
            *column(450, 640, "6,00 EUR|4,50 EUR"),
            *column(72, 604, "Notes|Paid by card|on 3 May"),
            *column(350, 599, "Net|Tax|Sum"),
        ],
        "Ada Ltd\nMain Street 1\n12345 Town\nCountry\n\nInvoice 17\nby Ada\nfor Bob\nof May\n\n"
        "Apples   2 kg   6,00 EUR\nPears   1 kg   4,50 EUR\n\nNotes\nPaid by card\non 3 May\n\nNet\nTax\nSum",
    ),
    (
        "empty cells of a table",
        [
            *column(72, 700, "Account|4400 Sales|6000 Goods|6300 Rent|7000 Interest"),
            *column(200, 700, "Debit:|||1,80|"),
            *column(200, 676, "3,20"),
            *column(300, 700, "Credit|9,50|||0,20"),
            *column(400, 700, "Tax|1,90|0,60|0,30"),
        ],
        "Account   Debit:   Credit   Tax\n4400 Sales   Credit: 9,50   Tax: 1,90\n6000 Goods   3,20   Tax: 0,60\n"
        "6300 Rent   1,80   Tax: 0,30\n7000 Interest   Credit: 0,20",
    ),
    (
        "where words alone stand below words, or too few rows, or rows without a name, it may be no table",
        [
            *column(72, 700, "Ada|Bob|Cyd|Dan||Place|1|2"),
            *column(200, 700, "Eve|Fay|Guy|Hal||Name|x|y"),
            *column(300, 700, "Ida|Jan|Kai|||Time|1,00|"),
            *column(72, 580, "Item|Pen|Ink"),
            *column(200, 580, "Price|5|6|7"),
            *column(300, 580, "Tax|1||1"),
        ],
        "Ada   Eve   Ida\nBob   Fay   Jan\nCyd   Guy   Kai\nDan   Hal\n\nPlace   Name   Time\n1   x   1,00\n2   y\n\n"
        "Item   Price   Tax\nPen   5   1\nInk   6\n7   1",
    ),
    (
        "the head of another table",
        [
            *column(72, 700, "Gross|4,00|Base|4,50"),
            *column(200, 700, "Tax|1,00|Health|0,70"),
            *column(300, 700, "Church||Pension|0,20"),
            *column(400, 700, "Solidarity|0,10|Work|0,30"),
            *column(500, 700, "Sum|1,10"),
        ],
        "Gross   Tax   Church   Solidarity   Sum\n4,00   1,00   0,10   1,10\nBase   Health   Pension   Work\n"
        "4,50   0,70   0,20   0,30",
    ),
    (
        "a row of words in a table, below which no name is certain",
        [
            *column(72, 700, "Item|Pen|Freight|Ink|Pad|Cap"),
            *column(200, 700, "Pieces|2|included|3||5"),
            *column(300, 700, "Price|5|free|6|7|8"),
        ],
        "Item   Pieces   Price\nPen   2   5\nFreight   included   free\nInk   3   6\nPad   7\nCap   5   8",
    ),
    ("a word in parts, side by side", [(72, 700, "Rech"), (94.5, 700, "nung 17")], "Rechnung 17"),
    ("a word that is drawn twice", [(72, 700, "Total"), (72.3, 700, "Total"), (110, 700, "5")], "Total   5"),
    ("paragraphs", column(72, 700, "One|two") + column(72, 640, "Three"), "One\ntwo\n\nThree"),
]


@pytest.mark.parametrize(("placed", "text"), [each[1:] for each in PAGES], ids=[each[0] for each in PAGES])
def test_reading_order(tmp_path: Path, placed: list[Placed], text: str) -> None:
    assert read_pdf(tmp_path, placed_pdf([placed])).content == f"{text}\n\n"


# Text that runs up the page, as in a margin, stands after the other; a page that is turned is read as it is displayed.
@pytest.mark.parametrize(
    ("turn", "page", "places"),
    [
        ("1 0 0 1", "", [(72, 700), (300, 700), (72, 680)]),
        ("1 0 0 1", "/CropBox [50 50 500 750]", [(72, 700), (300, 700), (72, 680)]),
        ("0 1 -1 0", "/Rotate 90", [(100, 72), (100, 300), (120, 72)]),
        ("-1 0 0 -1", "/Rotate 180", [(500, 100), (272, 100), (500, 120)]),
        ("0 -1 1 0", "/Rotate 270", [(500, 700), (500, 472), (480, 700)]),
        ("0 1 -1 0", "", [(100, 72), (100, 300), (120, 72)]),
        ("-1 0 0 -1", "", [(500, 100), (272, 100), (500, 120)]),
        ("0 -1 1 0", "", [(500, 700), (500, 472), (480, 700)]),
    ],
)
def test_turned_pages_and_the_ink_in_the_boxes(
    tmp_path: Path, turn: str, page: str, places: list[tuple[float, float]]
) -> None:
    texts = ["Total:", "99,50", "Thanks"]
    placed = [(*place, text) for place, text in zip(places, texts, strict=True)]
    document = read_pdf(tmp_path, placed_pdf([[], placed], page, turn))
    assert document.content.strip("\n") == "Total:   99,50\nThanks"
    for text in (*texts, "9,5"):
        start = document.content.index(text)
        box = reduce(Box.union, document.layout.boxes(start, start + len(text)))
        assert box.page == 2
        whole = text if text in texts else "99,50"
        alone = placed_pdf([[], [each for each in placed if each[2] == whole]], page, turn)
        inside, outside = ink(alone, box)
        assert inside > 20
        assert (outside <= 0.02 * inside) if text in texts else outside > 0


def ink(data: bytes, box: Box) -> tuple[int, int]:
    """The dark pixels of a page inside a box and outside it, as pdfium displays the page."""
    page: Any = pypdfium2.PdfDocument(data)[box.page - 1]
    image = page.render(scale=2, grayscale=True).to_pil()
    left, top, right, bottom = (round(2 * each) for each in box[1:])
    every = image.histogram()
    inside = image.crop((left - 1, top - 1, right + 1, bottom + 1)).histogram()
    return sum(inside[:128]), sum(every[:128]) - sum(inside[:128])


def test_pages_lines_and_boxes_agree(tmp_path: Path) -> None:
    pages = [column(72, 700, f"Page {number}|Total: {number},50 EUR") for number in range(1, 5)]
    document = read_pdf(tmp_path, placed_pdf(pages))
    for number in range(1, 5):
        start = document.content.index(f"{number},50")
        assert str(locate(document, start)) == f"page {number}, line 2"
        (box,) = document.layout.boxes(start, start + 4)
        assert box.page == number
        assert (box.left, box.bottom) == pytest.approx((100, 792 - 688 + 2), abs=4)
    assert document.layout.sizes == ((612, 792),) * 4
    assert document.layout.confidence(0, 10) is None
    boxes = document.layout.boxes(0, len(document.content))
    assert [box.page for box in boxes] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert document.layout.boxes(len(document.content) - 1, len(document.content)) == ()
    assert "layout" not in document.model_dump()


def test_a_layout_as_bytes() -> None:
    runs = [Run(2, 3, Box(1, 10, 20, 40, 30), 91), Run(6, 1, Box(3, 0, 0, 300, 100), 20), Run(8, 2, Box(3, 1, 1, 2, 2))]
    layout = PageLayout([(100, 100), (100, 200), (300, 100)], runs)
    again = PageLayout.from_bytes(layout.to_bytes())
    for start in range(12):
        for end in range(start + 1, 13):
            assert again.boxes(start, end) == layout.boxes(start, end)
            assert again.confidence(start, end) == layout.confidence(start, end)
    assert [round(layout.boxes(at, at + 1)[0].left) for at in (2, 3, 4)] == [10, 20, 30]
    assert (layout.boxes(0, 2), layout.boxes(5, 6), layout.boxes(10, 12)) == ((), (), ())
    assert layout.confidence(2, 7) == 0.2
    assert PageLayout([]).boxes(0, 5) == ()


TICK = "/FT /Btn /AP << /N << /Yes 7 0 R /Off 8 0 R >> >>"
RADIO = f"{TICK} /Ff 32768"
FIELDS = [
    ("/FT /Tx /V (EUR 950) /AP << /N 7 0 R >>", "EUR 950", "Rent:   EUR 950"),
    ("/FT /Tx /V (EUR 950)", "", "Rent:   EUR 950"),
    (
        "/FT /Tx /V (EUR 950) /AP << /N 7 0 R >>",
        "",
        "Rent:   EUR 950",
    ),  # as programs leave it that fill in only the value
    ("/FT /Tx /Ff 4096 /V (by card\n\nor cash)", "", "Rent:   by card   or cash"),
    ("/FT /Ch /Ff 131072 /V (monthly)", "", "Rent:   monthly"),
    ("/FT /Tx /V ( )", "", "Rent:"),
    ("/FT /Tx /Ff 8192 /V (s3cret)", "", "Rent:"),
    ("/FT /Tx /Ff 8192 /V (s3cret) /AP << /N 7 0 R >>", "***", "Rent:   ***"),
    (f"{TICK} /V /Yes /AS /Yes", "", "Rent:   ☒"),
    (f"{TICK} /V /Yes /AS /Yes", "X", "Rent:   ☒"),
    (f"{TICK} /V /Off /AS /Off", "X", "Rent:   ☐"),
    (f"{RADIO} /V /Yes /AS /Yes", "", "Rent:   ◉"),
    (f"{RADIO} /AS /Off", "", "Rent:   ○"),
    ("/FT /Btn /Ff 65536 /V (send)", "", "Rent:"),
]


@pytest.mark.parametrize(("field", "drawn", "text"), FIELDS)
def test_fields_of_a_form_are_read(tmp_path: Path, field: str, drawn: str, text: str) -> None:
    document = read_pdf(tmp_path, form_pdf(f"{field} /F 4", drawn))
    assert document.content == f"{text}\n\n"
    if text != "Rent:":
        (box,) = document.layout.boxes(len(document.content) - 3, len(document.content) - 2)
        assert (box.page, 150 <= box.left < box.right <= 300, 80 <= box.top < box.bottom <= 96) == (1, True, True)
    if not drawn:  # a hidden one says nothing
        assert read_pdf(tmp_path, form_pdf(f"{field} /F 2", drawn)).content == "Rent:\n\n"


def form_pdf(field: str, drawn: str) -> bytes:
    """A form of one field beside a label, with the text of its appearance."""
    contents = "BT /F1 10 Tf 72 700 Td (Rent:) Tj ET"
    appearance = f"BT /F1 10 Tf 2 4 Td ({drawn}) Tj ET"
    about = "/Type /XObject /Subtype /Form /BBox [0 0 150 14] /Resources << /Font << /F1 3 0 R >> >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] >> >>",
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Annots [6 0 R] /Contents 5 0 R"
        " /Resources << /Font << /F1 3 0 R >> >> >>",
        f"<< /Length {len(contents)} >>\nstream\n{contents}\nendstream",
        f"<< /Type /Annot /Subtype /Widget /T (rent) /Rect [150 696 300 710] {field} >>",
        f"<< {about} /Length {len(appearance)} >>\nstream\n{appearance}\nendstream",
        f"<< {about} /Length 0 >>\nstream\n\nendstream",
        "<< >>",
    ]
    return b"".join(pdf_file(objects))


# --- what would take too much -------------------------------------------------------------------------------


def with_stream(data: bytes, about: str = "") -> bytes:
    """A PDF of one page, whose content is a compressed stream."""
    head = (
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1"
    )
    head += b" >>\nendobj\n3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << "
    head += b"/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << /X 4 0 R >> "
    head += b"/Pattern << /P1 << /PatternType 2 /Shading << /ShadingType 2 /ColorSpace /DeviceGray /Coords [0 0 600 0] "
    head += b"/Extend [true true] /Function << /FunctionType 2 /Domain [0 1] /C0 [0] /C1 [0.2] /N 1 >> >> >> >> >> >>"
    head += b"\nendobj\n"
    packed = zlib.compress(data, 9)
    stream = f"4 0 obj\n<< /Length {len(packed)} /Filter /FlateDecode {about} >>\nstream\n".encode()
    return head + stream + packed + b"\nendstream\nendobj\ntrailer << /Root 1 0 R >>\n"


SHOWN = b"BT /F1 12 Tf 72 700 Td (words and words) Tj ET\n"
BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a content of 400 MB": ("memory", lambda: with_stream(SHOWN + b" " * (400 << 20))),
    "36 million letters": (
        "max_bytes|seconds|memory",
        lambda: with_stream(b"BT /F1 9 Tf " + b"(some words) Tj " * (3 << 20)),
    ),
}


@pytest.mark.parametrize(
    ("before", "font", "is_read"),
    [
        ("0 0 0 rg", "/F1 12 Tf", True),
        ("1 1 1 rg", "/F1 12 Tf", False),
        ("1 1 1 rg", "/F1 12 Tf 2 Tr", True),  # with black edges
        ("0 0 0.5 rg 50 690 300 30 re f 1 1 1 rg", "/F1 12 Tf", True),
        ("0 0 0.5 rg 50 600 300 30 re f 1 1 1 rg", "/F1 12 Tf", False),
        ("1 1 1 rg 0 0 612 792 re f", "/F1 12 Tf", False),
        ("1 1 1 rg 0 0 612 792 re f " + "0 0 9 9 re f " * 1000, "/F1 12 Tf", True),  # too much to look at
        ("/Pattern cs /P1 scn 50 690 300 30 re f 1 1 1 rg", "/F1 12 Tf", True),  # upon a dark gradient
        ("/Pattern cs /P1 scn", "/F1 12 Tf", True),  # filled by it
        ("0 0 0 rg BT /F1 300 Tf 40 600 Td (I) Tj ET 1 1 1 rg", "/F1 5 Tf", True),  # upon a letter
        ("0 0 0 rg", "/F1 0.5 Tf", False),
        ("24 0 0 24 -1656 -16100 cm", "/F1 0.5 Tf", True),
    ],
)
def test_text_that_nobody_sees_is_left_out(tmp_path: Path, before: str, font: str, is_read: bool) -> None:
    drawn = f"q {before} BT {font} 72 700 Td (Order it) Tj ET Q BT /F1 12 Tf 72 400 Td (Total) Tj ET"
    document = read_pdf(tmp_path, with_stream(drawn.encode()))
    assert ("Order it" in document.content, "Total" in document.content) == (is_read, True)


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_text_that_is_cut_off_the_page_is_left_out(tmp_path: Path, turn: int) -> None:
    cut = f"/CropBox [60 400 500 780] /Rotate {turn}"
    placed = [(72.0, 700.0, "Seen"), (72.0, 200.0, "Below"), (10.0, 700.0, "Left"), (520.0, 700.0, "Right")]
    assert read_pdf(tmp_path, placed_pdf([placed], cut)).content == "Seen\n\n"


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(("unit", "is_read"), [("/UserUnit 72", True), ("", False)])
def test_tiny_text_is_read_if_a_page_counts_in_another_unit(
    tmp_path: Path, unit: str, is_read: bool, is_packed: bool
) -> None:
    drawn = "BT /F1 0.2 Tf 1 10 Td (Order it) Tj /F1 20 Tf (Total) Tj ET"
    document = read_pdf(tmp_path, packed_pdf(drawn, f"/MediaBox [0 0 85 110] {unit}", is_packed))
    assert ("Order it" in document.content, "Total" in document.content) == (is_read, True)


def packed_pdf(drawn: str, page: str, is_packed: bool) -> bytes:
    """A PDF of one page, whose objects are in a compressed stream, where `is_packed`."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> {page} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    contents = f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream"
    if not is_packed:
        return b"".join(pdf_file([*objects, contents, "<< >>"]))
    places = [sum(len(each) + 1 for each in objects[:at]) for at in range(4)]
    table = "".join(f"{number} {place} " for number, place in enumerate(places, 1))
    packed = zlib.compress((table + "\n".join(objects)).encode())
    about = f"/Type /ObjStm /N 4 /First {len(table)} /Filter /FlateDecode /Length {len(packed)}"
    file = f"%PDF-1.6\n5 0 obj\n{contents}\nendobj\n".encode()
    starts = [9, len(file)]
    file += f"6 0 obj\n<< {about} >>\nstream\n".encode() + packed + b"\nendstream\nendobj\n"
    starts.append(len(file))
    rows = b"\0\0\0\0" + b"".join(b"\2\0\6" + bytes([at]) for at in range(4))
    rows += b"".join(b"\1" + start.to_bytes(2, "big") + b"\0" for start in starts)
    about = f"/Type /XRef /Size 8 /W [1 2 1] /Root 1 0 R /Length {len(rows)}"
    file += f"7 0 obj\n<< {about} >>\nstream\n".encode() + rows + b"\nendstream\nendobj\n"
    return file + f"startxref\n{starts[-1]}\n%%EOF".encode()


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_files_that_take_too_much_are_typed_errors(tmp_path: Path, name: str) -> None:
    limit, made = BOMBS[name]
    (tmp_path / "a.pdf").write_bytes(made())
    started = monotonic()
    with pytest.raises(DocumentLimitError) as caught:
        read(tmp_path / "a.pdf", limits=ReadLimits(seconds=5))
    assert caught.value.limit in limit.split("|")
    assert monotonic() - started < 10


def test_files_with_loops_come_to_an_end(tmp_path: Path) -> None:
    drawn = with_stream(SHOWN + b"/X Do\n", "/Type /XObject /Subtype /Form /BBox [0 0 612 792]")
    assert "words and words" in read_pdf(tmp_path, drawn).content
    many = pdf([["text"]]).replace(b"/Count 1", b"/Count 999999999")
    assert read_pdf(tmp_path, many).content == "text\n\n"
    (tmp_path / "b.pdf").write_bytes(pdf([["text"]]).replace(b"/Kids [4 0 R] /Count 1", b"/Kids [2 0 R] /Count 9"))
    with pytest.raises(UnreadableDocumentError, match="damaged"):
        read(tmp_path / "b.pdf")


@pytest.mark.parametrize(("count", "times"), [(100, 0), (101, 1), (1100, 10), (1300, 10)])
def test_the_time_for_a_long_file_grows_with_its_pages(count: int, times: int) -> None:
    begun: list[int] = []
    scanning = Scanning(go_on=lambda: begun.append(1))
    parse_pdf(Original(pdf([["text"]] * count), "a.pdf", ".pdf", 1 << 20, scanning=scanning))
    assert len(begun) == times


@pytest.mark.slow
def test_a_thousand_pages_within_the_limits(tmp_path: Path) -> None:
    page = [f"Line {number} of the page, with some words in it and a number: {number * 37}" for number in range(4)]
    document = read_pdf(tmp_path, pdf([page] * 1000), ReadLimits(seconds=60))
    assert len(document.metadata.pages) == 1000
    start = document.content.rindex("Line 3")
    assert str(locate(document, start)) == "page 1000, line 4"
    assert [box.page for box in document.layout.boxes(start, start + 6)] == [1000]
