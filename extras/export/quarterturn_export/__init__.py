"""Exports of public tasks and runs to the formats of other tools: Hugging Face, Inspect and Harbor.

The writers turn `quarterturn.public_records` into files and know no home and no key; `folder` writes the files, whole
or not at all.
"""
