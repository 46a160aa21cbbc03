"""Exports of public tasks and runs to the formats of other tools: Hugging Face, Inspect and Harbor.

`sources` reads what is public (a release, a dev set, a run on a dev set) and refuses everything else; the writers turn
its records into files and know no home and no key; `folder` writes the files, whole or not at all.
"""
