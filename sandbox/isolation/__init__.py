"""Process isolation: system-call filters, /proc masks, copies of programs, classes of runs, fork servers."""
