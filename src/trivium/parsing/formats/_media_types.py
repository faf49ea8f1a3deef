"""The media types of texts, and the suffixes of their files."""

from __future__ import annotations

PLAIN = "text/plain"
MARKDOWN = "text/markdown"
HTML = "text/html"
EMAIL = "message/rfc822"
PDF = "application/pdf"
_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX = f"{_OFFICE}wordprocessingml.document"
PPTX = f"{_OFFICE}presentationml.presentation"
XLSX = f"{_OFFICE}spreadsheetml.sheet"
GZIP = "application/gzip"
PNG = "image/png"
JPEG = "image/jpeg"
TIFF = "image/tiff"
GIF = "image/gif"
WEBP = "image/webp"
BMP = "image/bmp"
CALENDAR = "text/calendar"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSON_LINES = "application/jsonl"
PHP = "text/x-php"

_TEXTS = {
    PLAIN: ".txt .text .log",
    MARKDOWN: ".md .markdown .mdx .qmd .rmd",
    HTML: ".html .htm .xhtml",
    EMAIL: ".eml .mbox",
    CSV: ".csv",
    TSV: ".tsv .tab",
    JSON: ".json .geojson .ipynb .webmanifest",
    JSON_LINES: ".jsonl .ndjson",
    "text/x-rst": ".rst .rest",
    "text/asciidoc": ".adoc .asciidoc",
    "text/org": ".org",
    "text/x-tex": ".tex .sty .cls .bib",
    "text/troff": ".roff .man",
    "text/vtt": ".vtt",
    CALENDAR: ".ics",
    "application/xml": ".xml .xsd .xsl .xslt .rss .atom .svg .docbook .dbk",
    "application/yaml": ".yaml .yml",
    "application/toml": ".toml",
    "text/x-ini": ".ini .cfg .conf .properties .env",
    "text/x-diff": ".diff .patch",
}
_CODE = {
    "text/css": ".css .scss .sass .less",
    "text/javascript": ".js .mjs .cjs .jsx",
    "text/x-assembly": ".s .asm",
    "text/x-c": ".c .h",
    "text/x-c++": ".cc .cpp .cxx .c++ .hh .hpp .hxx .ipp .cu .cuh",
    "text/x-clojure": ".clj .cljs .cljc .edn",
    "text/x-cmake": ".cmake",
    "text/x-common-lisp": ".lisp .lsp .cl .el",
    "text/x-csharp": ".cs .csx",
    "text/x-d": ".d",
    "text/x-dart": ".dart",
    "text/x-elixir": ".ex .exs",
    "text/x-elm": ".elm",
    "text/x-erlang": ".erl .hrl",
    "text/x-fortran": ".f .f90 .f95 .f03 .for",
    "text/x-fsharp": ".fs .fsi .fsx",
    "text/x-glsl": ".glsl .vert .frag .wgsl .hlsl .metal",
    "text/x-go": ".go",
    "text/x-gradle": ".gradle",
    "text/x-graphql": ".graphql .gql",
    "text/x-groovy": ".groovy",
    "text/x-haskell": ".hs .lhs",
    "text/x-hcl": ".tf .tfvars .hcl",
    "text/x-java": ".java",
    "text/x-julia": ".jl",
    "text/x-kotlin": ".kt .kts",
    "text/x-lua": ".lua",
    "text/x-makefile": ".mk .mak",
    "text/x-matlab": ".m",
    "text/x-nim": ".nim",
    "text/x-nix": ".nix",
    "text/x-ocaml": ".ml .mli",
    "text/x-pascal": ".pas .pp",
    "text/x-perl": ".pl .pm",
    PHP: ".php",
    "text/x-powershell": ".ps1 .psm1",
    "text/x-prolog": ".pro .prolog",
    "text/x-protobuf": ".proto",
    "text/x-python": ".py .pyi .pyx .pyw",
    "text/x-r": ".r",
    "text/x-ruby": ".rb .rake .gemspec",
    "text/x-rust": ".rs",
    "text/x-scala": ".scala .sc",
    "text/x-scheme": ".scm .ss .rkt",
    "text/x-sh": ".sh .bash .zsh .ksh .fish .bats",
    "text/x-solidity": ".sol",
    "text/x-sql": ".sql",
    "text/x-svelte": ".svelte",
    "text/x-swift": ".swift",
    "text/x-tcl": ".tcl",
    "text/x-typescript": ".ts .tsx .mts .cts",
    "text/x-vb": ".vb .vbs .bas",
    "text/x-verilog": ".v .sv .svh",
    "text/x-vhdl": ".vhd .vhdl",
    "text/x-vue": ".vue",
    "text/x-zig": ".zig",
}
_BY_SUFFIX = {
    suffix: kind for table in (_TEXTS, _CODE) for kind, suffixes in table.items() for suffix in suffixes.split()
}
_DOCUMENTS = {PDF: ".pdf", DOCX: ".docx", PPTX: ".pptx", XLSX: ".xlsx", GZIP: ".gz"}
_IMAGES = {PNG: ".png", JPEG: ".jpg", TIFF: ".tiff", GIF: ".gif", WEBP: ".webp", BMP: ".bmp"}
IMAGE_SUFFIXES = frozenset([*_IMAGES.values(), ".jpeg", ".tif"])
BINARY_SUFFIXES = IMAGE_SUFFIXES.union(_DOCUMENTS.values())
# Media types of servers that mean another one; servers call any text plain, so for that the suffix decides.
_SERVED = {
    "application/xhtml+xml": ".html",
    "text/x-markdown": ".md",
    "application/x-ndjson": ".jsonl",
    "text/xml": ".xml",
}


def text_type(suffix: str) -> str | None:
    """Return the media type of a text by its suffix in lower case; None if the suffix is not known.

    >>> text_type(".pyi"), text_type(".2")
    ('text/x-python', None)
    """
    return _BY_SUFFIX.get(suffix)


def is_code(media_type: str) -> bool:
    """Tell source code by its media type.

    >>> is_code("text/x-rust"), is_code("text/markdown")
    (True, False)
    """
    return media_type in _CODE


def suffix_for(media_type: str) -> str:
    """Return a suffix for files of this media type; "" if the type is not known, or says little as `text/plain`.

    >>> suffix_for("text/csv"), suffix_for("text/plain"), suffix_for("application/octet-stream")
    ('.csv', '', '')
    """
    if media_type == PLAIN:
        return ""
    listed = _TEXTS.get(media_type) or _CODE.get(media_type) or (_DOCUMENTS | _IMAGES).get(media_type) or ""
    return _SERVED.get(media_type) or next(iter(listed.split()), "")
