"""Croissant 1.1 metadata (MLCommons) of an export: its files, and its tables as record sets. Pure.

The context is the one of the format's specification, http://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from quarterturn.public_records.records import PublicRecords
from quarterturn_export.columns import Column, Table

VERSION = "http://mlcommons.org/croissant/1.1"
_PROPERTIES = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject"),
    *("fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
    *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator"),
    *("source", "subField", "transform"),
)
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
} | {name: f"cr:{name}" for name in _PROPERTIES}
TYPES = {"text": "sc:Text", "texts": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean"}
FORMATS = {"jsonl": "application/jsonlines", "parquet": "application/x-parquet"}


def metadata(
    records: PublicRecords, tables: Sequence[Table], files: Mapping[str, bytes], *, url: str, now: datetime
) -> dict[str, Any]:
    """Describe an export.

    Args:
        records: what is exported.
        tables: its tables.
        files: path -> bytes of the tables' files, `data/NAME.jsonl` and `data/NAME.parquet`.
        url: where the dataset is, or will be.
        now: when it was made.
    """
    return {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "name": records.name,
        "description": records.about,
        "conformsTo": VERSION,
        "license": records.license,
        "citeAs": f"@misc{{{records.name}, title={{{records.title}}}, year={{{now.year}}}, howpublished={{{url}}}}}",
        "url": url,
        "creator": {"@type": "sc:Organization", "name": records.origin or "Quarterturn", "url": url},
        "datePublished": now.date().isoformat(),
        "version": "1.0.0",
        "isLiveDataset": False,
        "distribution": [_file(path, data) for path, data in files.items()],
        "recordSet": [_record_set(table) for table in tables if table.rows],
    }


def _file(path: str, data: bytes) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{len(data)} B",
        "encodingFormat": FORMATS[path.rpartition(".")[2]],
        "sha256": sha256(data).hexdigest(),
    }


def _record_set(table: Table) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.about,
        "field": [_field(table.name, column) for column in table.columns],
    }


def _field(table: str, column: Column) -> dict[str, Any]:
    many = {"isArray": True, "arrayShape": "-1"} if column.type == "texts" else {}
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": column.name,
        "description": column.about,
        "dataType": TYPES[column.type],
        "source": {
            "fileObject": {"@id": f"data/{table}.parquet"},
            "extract": {"column": column.name},
        },
        **many,
    }
