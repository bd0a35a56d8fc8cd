"""Small files of 30 types: source code, text formats, and binary formats of Python's library."""

from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
import tarfile
import textwrap
import wave
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final

import numpy as np

from runners.engine.starter.data import pictures

EACH: Final = 6
# How Magika cuts a file: the first and last bytes, from blocks at either end.
_PART, _BLOCK, _PAD = 1024, 4096, 256
Source = random.Random


def generate(seed: int) -> Iterator[tuple[str, str, bytes]]:
    """The type, name and content of each file."""
    for kind, make in _MAKERS.items():
        for number in range(EACH):
            source = random.Random(f"{seed} {kind} {number}")  # noqa: S311 - a seeded draw
            content = make(source)
            yield kind, f"{number}", content.encode() if isinstance(content, str) else content


def first_and_last(contents: Sequence[bytes]) -> np.ndarray[Any, Any]:
    """The first and last bytes of files as Magika takes them: int32 ``[files, 2048]``."""
    rows = np.full((len(contents), 2 * _PART), _PAD, np.int32)
    for row, content in zip(rows, contents, strict=True):
        first = content[:_BLOCK].lstrip()[:_PART]
        last = content[-_BLOCK:].rstrip()[-_PART:]
        row[: len(first)] = np.frombuffer(first, np.uint8)
        row[2 * _PART - len(last) :] = np.frombuffer(last, np.uint8)
    return rows


def _word(source: Source) -> str:
    return pictures.words(source.randrange(1 << 30)).split()[0].strip(".:(),@").lower() or "value"


def _names(source: Source, count: int) -> list[str]:
    return ["".join(filter(str.isalpha, _word(source))) or "value" for _ in range(count)]


def _sentence(source: Source) -> str:
    return " ".join(_names(source, source.randint(6, 12))).capitalize() + "."


def _text(template: str, least: int = 5, most: int = 14) -> Callable[[Source], str]:
    """Blocks of a template whose names and numbers are drawn."""
    block = textwrap.dedent(template).strip("\n")
    head, _, body = block.rpartition("\n===\n")

    def make(source: Source) -> str:
        parts = [head] if head else []
        parts += [body] * source.randint(least, most)
        return "\n\n".join(_filled(part, source) for part in parts) + "\n"

    return make


def _filled(part: str, source: Source) -> str:
    for mark in ("NAME", "OTHER", "ITEM"):
        part = part.replace(mark, _names(source, 1)[0])
    for mark in ("NUMBER", "COUNT"):
        part = part.replace(mark, str(source.randint(2, 4_000)))
    return part.replace("SENTENCE", _sentence(source))


def _json(source: Source) -> str:
    rows = [
        {
            "id": at,
            "name": _names(source, 1)[0],
            "tags": _names(source, 3),
            "ratio": source.random(),
        }
        for at in range(source.randint(5, 30))
    ]
    return json.dumps({"version": source.randint(1, 9), "rows": rows}, indent=2)


def _csv(source: Source) -> str:
    head = ",".join(["id", *_names(source, 3)])
    rows = [
        f"{at},{_names(source, 1)[0]},{source.random():.4f},{source.randint(1, 999)}"
        for at in range(source.randint(30, 90))
    ]
    return "\n".join([head, *rows]) + "\n"


def _picture(form: str) -> Callable[[Source], bytes]:
    def make(source: Source) -> bytes:
        from PIL import Image  # noqa: PLC0415 - only children load it

        page = Image.open(io.BytesIO(pictures.page(source.randrange(1 << 30), 0)))
        buffer = io.BytesIO()
        page.resize((source.randint(60, 200), source.randint(60, 200))).save(buffer, form)
        return buffer.getvalue()

    return make


def _zip(source: Source) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as whole:
        for place, name in enumerate(_names(source, 5)):
            whole.writestr(zipfile.ZipInfo(f"{name}-{place}.txt"), _sentence(source) * 40)
    return buffer.getvalue()


def _tar(source: Source) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as whole:
        for name in _names(source, 4):
            content = (_sentence(source) * 20).encode()
            member = tarfile.TarInfo(f"{name}.txt")
            member.size = len(content)
            whole.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _gzip(source: Source) -> bytes:
    content = "".join(_sentence(source) for _ in range(80)).encode()
    return gzip.compress(content, mtime=source.randint(1, 1 << 30))


def _wave(source: Source) -> bytes:
    buffer = io.BytesIO()
    seconds = np.arange(source.randint(4_000, 16_000)) / 8_000
    sound = 8_000 * np.sin(2 * np.pi * source.uniform(100, 900) * seconds)
    with wave.open(buffer, "wb") as whole:
        whole.setnchannels(1)
        whole.setsampwidth(2)
        whole.setframerate(8_000)
        whole.writeframes(sound.astype("<i2").tobytes())
    return buffer.getvalue()


def _sqlite(source: Source) -> bytes:
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE parts (id INTEGER PRIMARY KEY, name TEXT, price REAL)")
        rows = [(_names(source, 1)[0], source.random()) for _ in range(60)]
        base.executemany("INSERT INTO parts (name, price) VALUES (?, ?)", rows)
        base.commit()
        return base.serialize()


def _npy(source: Source) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.random.default_rng(source.randrange(1 << 30)).random((40, 12)))
    return buffer.getvalue()


_MAKERS: Final[dict[str, Callable[[Source], str | bytes]]] = {
    "python": _text("""
        import json
                ===
        def NAME_OTHER(ITEM, limit=NUMBER):
            \"\"\"SENTENCE\"\"\"
            rows = [row for row in ITEM if row is not None and len(row) > COUNT]
            for place, row in enumerate(rows):
                if place >= limit:
                    raise ValueError(f"too many: {place}")
            return sorted(rows)
        """),
    "c": _text("""
        #include <stdio.h>
        #include <stdlib.h>
        ===
        static int NAME_OTHER(const int *ITEM, size_t count)
        {
            int total = NUMBER;
            for (size_t i = 0; i < count; i++) {
                total += ITEM[i] * COUNT;
            }
            printf("%d\\n", total);
            return total;
        }
        """),
    "java": _text("""
        package org.example.OTHER;

        import java.util.ArrayList;
        import java.util.List;
        ===
        public class NAME {
            private final List<String> OTHER = new ArrayList<>();

            public int ITEM(String text) {
                if (text == null) {
                    throw new IllegalArgumentException("SENTENCE");
                }
                OTHER.add(text);
                return OTHER.size() + NUMBER;
            }
        }
        """),
    "javascript": _text("""
        const fs = require("fs");
        ===
        async function NAME(OTHER, options = {}) {
          const ITEM = await fetch(`/api/${OTHER}?limit=NUMBER`);
          if (!ITEM.ok) throw new Error("SENTENCE");
          const rows = (await ITEM.json()).filter((row) => row.count > COUNT);
          document.querySelector("#NAME").textContent = rows.map((row) => row.name).join(", ");
          return rows;
        }
        """),
    "go": _text("""
        package main

        import (
            "errors"
            "fmt"
        )
        ===
        func NAME(OTHER []string, limit int) (map[string]int, error) {
            if len(OTHER) > NUMBER {
                return nil, errors.New("SENTENCE")
            }
            ITEM := make(map[string]int)
            for i, row := range OTHER {
                ITEM[row] = i * COUNT
            }
            fmt.Println(len(ITEM))
            return ITEM, nil
        }
        """),
    "rust": _text("""
        use std::collections::HashMap;
        ===
        pub fn NAME_OTHER(ITEM: &[String], limit: usize) -> Result<HashMap<String, usize>, String> {
            let mut counts = HashMap::new();
            for (place, row) in ITEM.iter().enumerate() {
                if place > NUMBER { return Err(format!("SENTENCE {}", place)); }
                *counts.entry(row.clone()).or_insert(0) += COUNT;
            }
            Ok(counts)
        }
        """),
    "ruby": _text("""
        require "json"
        ===
        def NAME(OTHER, limit: NUMBER)
          raise ArgumentError, "SENTENCE" if OTHER.nil?
          OTHER.each_with_index do |ITEM, place|
            next unless ITEM.size > COUNT
            puts "#{place}: #{ITEM}"
          end
        end
        """),
    "php": _text("""
        <?php
        namespace Example;
        ===
        function NAME(array $OTHER, int $limit = NUMBER): array
        {
            $ITEM = [];
            foreach ($OTHER as $key => $value) {
                if ($value > COUNT) { $ITEM[$key] = strtoupper($value); }
            }
            echo "SENTENCE\\n";
            return $ITEM;
        }
        """),
    "css": _text("""
        .NAME-OTHER > .ITEM:hover {
          margin: NUMBERpx auto;
          padding: 0.5rem 1rem;
          color: #204060;
          border-bottom: 1px solid rgba(0, 0, 0, 0.2);
          font-family: sans-serif;
        }
        """),
    "sql": _text("""
        CREATE TABLE NAME (id INTEGER PRIMARY KEY, OTHER VARCHAR(200) NOT NULL, price REAL);
        INSERT INTO NAME (id, OTHER, price) VALUES (NUMBER, 'ITEM', COUNT);
        SELECT OTHER, SUM(price) FROM NAME WHERE id > COUNT GROUP BY OTHER ORDER BY 2 DESC;
        """),
    "shell": _text("""
        #!/bin/bash
        set -euo pipefail
        ===
        NAME="${1:-OTHER}"
        if [ ! -d "$NAME" ]; then
            echo "SENTENCE" >&2
            mkdir -p "$NAME"
        fi
        for file in "$NAME"/*.txt; do
            grep -c ITEM "$file" | sort -n | tail -n NUMBER
        done
        """),
    "html": _text("""
        <!DOCTYPE html>
        <html lang="en">
        <head><meta charset="utf-8"><title>NAME OTHER</title></head>
        <body>
        ===
        <section id="NAME"><h2>OTHER</h2>
        <p>SENTENCE <a href="/ITEM?page=NUMBER">ITEM</a></p>
        <ul><li>COUNT</li><li>NAME</li></ul></section>
        """),
    "xml": _text("""
        <?xml version="1.0" encoding="UTF-8"?>
        <catalogue xmlns="urn:example:parts">
        ===
          <part id="NUMBER"><name>NAME</name><price unit="EUR">COUNT</price>
            <note>SENTENCE</note></part>
        """),
    "svg": _text("""
        <?xml version="1.0" encoding="UTF-8"?>
        <svg xmlns="http://www.w3.org/2000/svg" width="400" height="300" viewBox="0 0 400 300">
        ===
          <rect x="NUMBER" y="COUNT" width="40" height="20" fill="#204060"/>
          <path d="M NUMBER COUNT L 30 40 Z" stroke="black" fill="none"/><text x="5">NAME</text>
        """),
    "yaml": _text("""
        NAME:
          OTHER: NUMBER
          enabled: true
          ITEM:
            - name: OTHER
              limit: COUNT
            - name: NAME
        """),
    "toml": _text("""
        [NAME.OTHER]
        ITEM = "OTHER"
        limit = NUMBER
        ratio = 0.25
        names = ["NAME", "ITEM"]
        """),
    "ini": _text("""
        [NAME]
        OTHER = ITEM
        limit = NUMBER
        path = /var/lib/OTHER
        ; SENTENCE
        """),
    "markdown": _text("""
        ## NAME OTHER

        SENTENCE SENTENCE

        - **ITEM**: SENTENCE
        - [OTHER](https://example.org/NAME)

        ```console
        $ NAME --limit NUMBER
        ```
        """),
    "json": _json,
    "csv": _csv,
    "png": _picture("PNG"),
    "jpeg": _picture("JPEG"),
    "gif": _picture("GIF"),
    "bmp": _picture("BMP"),
    "pdf": _picture("PDF"),
    "zip": _zip,
    "tar": _tar,
    "gzip": _gzip,
    "wav": _wave,
    "sqlite": _sqlite,
}
