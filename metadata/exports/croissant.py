"""A version of a data set as a Croissant document (MLCommons, 1.0), in JSON-LD.

Its files are the distribution, each with its digest. A split of a table, or of a ZIP archive with a
folder of pictures for each class, becomes a record set. NumPy archives are files only: Croissant
1.0 has no way to name an array of one. Splits state no types of columns: those that the split
implies are numbers, all others texts. Source: the Croissant Format Specification 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from hub.protocol.splits import MULTI_LABEL, Split
from metadata.rdf.terms import spdx_id
from registry.cards import licences
from registry.models import DatasetFile, DatasetVersion

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_TABLES = {"csv", "parquet"}
_FORMATS = {
    ".csv": "text/csv",
    ".parquet": "application/x-parquet",
    ".zip": "application/zip",
    ".json": "application/json",
    ".txt": "text/plain",
}
_OTHER = "application/octet-stream"
_UNFIT = re.compile(r"[\s/]+")
# The folder that a picture of an archive lies in.
_FOLDER = r"([^/]+)/[^/]+$"
_TERMS = (
    *(
        "citeAs",
        "column",
        "equivalentProperty",
        "extract",
        "field",
        "fileProperty",
        "fileObject",
        "fileSet",
        "format",
    ),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
    *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source"),
    *("subField", "transform"),
)
# The context that the specification gives (appendix 1).
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _TERMS},
}


class _Names:
    """Identifiers without white space, which readers of Croissant refuse; each thing has its own.

    A thing is named by its kind and the names that lead to it.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...], str] = {}
        self._used: set[str] = set()

    def of(self, *thing: str) -> str:
        """The identifier of a thing: its names, or with a number where another has these."""
        if thing not in self._names:
            plain = "/".join(_UNFIT.sub("-", name) for name in thing[1:])
            name, place = plain, 2
            while name in self._used:
                name, place = f"{plain}-{place}", place + 1
            self._used.add(name)
            self._names[thing] = name
        return self._names[thing]


def document(of: DatasetVersion, *, page: str, address: str) -> dict[str, Any]:
    """The document; ``page`` is the address of the version's page, ``address`` that in the API.

    A version has three numbers, as Croissant wants semantic ones: 2.0.0 is version 2.
    """
    entry = of.dataset
    addresses = [_licence(name) for name in licences.named(entry.license)]
    stated = {
        "description": entry.description or entry.title,
        "license": addresses if len(addresses) > 1 else "".join(addresses),
        "sameAs": entry.iri,
    }
    names = _Names()
    files = [_file(file, names, address) for file in of.files.all()]
    archives = [split for split in of.typed_splits if split.reader == "images"]
    pictures = [_pictures(split, names) for split in archives]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": entry.slug,
        "alternateName": entry.title,
        "url": page,
        "version": f"{of.number}.0.0",
        "datePublished": of.created_at.isoformat(timespec="seconds"),
        "creator": {"@type": "sc:Organization", "name": entry.namespace.slug},
        **{name: value for name, value in stated.items() if value},
        "distribution": [*files, *pictures],
        "recordSet": [
            record_set for split in of.typed_splits for record_set in _record_sets(split, names)
        ],
    }


def _licence(name: str) -> str:
    spdx = spdx_id(name)
    return f"https://spdx.org/licenses/{spdx}" if spdx else name


def _file(file: DatasetFile, names: _Names, address: str) -> dict[str, Any]:
    ending = f".{file.path.rpartition('.')[2].lower()}"
    return {
        "@type": "cr:FileObject",
        "@id": names.of("file", file.path),
        "name": file.path,
        "contentUrl": f"{address}/files/{quote(file.path)}",
        "contentSize": f"{file.blob.size} B",
        "encodingFormat": _FORMATS.get(ending, _OTHER),
        "sha256": file.blob_id,
    }


def _pictures(split: Split, names: _Names) -> dict[str, Any]:
    """The pictures inside the archive of a split."""
    return {
        "@type": "cr:FileSet",
        "@id": names.of("pictures", split.name, "pictures"),
        "name": f"{split.name} pictures",
        "containedIn": {"@id": names.of("file", split.files[0])},
        "encodingFormat": "image/*",
        "includes": "**/*",
    }


def _record_sets(split: Split, names: _Names) -> Iterator[dict[str, Any]]:
    """The record sets of a split: one for each of its tables, or one for its pictures."""
    if split.reader == "images":
        yield _record_set(split, names, (split.name,), _picture_sources(split, names))
    for path in split.files if split.reader in _TABLES else ():
        of = (split.name,) if len(split.files) == 1 else (split.name, path)
        yield _record_set(split, names, of, _column_sources(split, names, path))


def _record_set(
    split: Split, names: _Names, of: tuple[str, ...], sources: dict[str, tuple[str, Any]]
) -> dict[str, Any]:
    """A record set; ``sources`` are the type and the source of each field by its name."""
    return {
        "@type": "cr:RecordSet",
        "@id": names.of("rows", *of),
        "name": "/".join(of),
        "description": f"Rows of the split {split.name}, for {split.task.replace('-', ' ')}.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": names.of("field", *of, name),
                "name": name,
                "dataType": kind,
                "source": source,
            }
            for name, (kind, source) in sources.items()
        ],
    }


def _column_sources(split: Split, names: _Names, path: str) -> dict[str, tuple[str, Any]]:
    """The columns that a split reads from one of its tables: several of one tensor are numbers."""
    kinds = {
        column: "sc:Float" if len(port.columns) > 1 else "sc:Text"
        for port in split.inputs
        for column in port.columns
    }
    target = split.target
    kinds |= dict.fromkeys(target.columns, "sc:Integer" if split.task == MULTI_LABEL else "sc:Text")
    if target.column:
        kinds[target.column] = "sc:Float" if split.task == "regression" else "sc:Text"
    table = {"fileObject": {"@id": names.of("file", path)}}
    return {
        column: (kind, table | {"extract": {"column": column}}) for column, kind in kinds.items()
    }


def _picture_sources(split: Split, names: _Names) -> dict[str, tuple[str, Any]]:
    pictures = {"fileSet": {"@id": names.of("pictures", split.name, "pictures")}}
    content = pictures | {"extract": {"fileProperty": "content"}}
    folder = {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": _FOLDER}}
    return {"image": ("sc:ImageObject", content), "label": ("sc:Text", pictures | folder)}
