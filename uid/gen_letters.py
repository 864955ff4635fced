#!/usr/bin/env python3
"""Prints uid/letters.def: the ranges of Unicode letters from U+00AA to U+FFFF.

    python3 uid/gen_letters.py > uid/letters.def

Letters are the categories Lu, Ll, Lt, Lm and Lo.  Those past U+FFFF are left
out: OpenTSDB looks at UTF-16 units one by one and takes none of them.
"""
import unicodedata

LETTERS = {"Lu", "Ll", "Lt", "Lm", "Lo"}


def ranges():
    first = None
    for c in range(0xAA, 0x10001):
        is_letter = c <= 0xFFFF and unicodedata.category(chr(c)) in LETTERS
        if is_letter and first is None:
            first = c
        elif not is_letter and first is not None:
            yield first, c - 1
            first = None


print("/* Made by uid/gen_letters.py from Unicode %s; do not edit. */"
      % unicodedata.unidata_version)
row = ""
for lo, hi in ranges():
    item = "{ 0x%04x, 0x%04x }," % (lo, hi)
    if len(row) + 1 + len(item) > 80:
        print(row)
        row = item
    else:
        row = item if row == "" else row + " " + item
print(row)
