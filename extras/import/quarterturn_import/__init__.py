"""Conversion of other benchmarks' tasks into drafts: `benchmark_files` reads files, `importers` make drafts of them."""
