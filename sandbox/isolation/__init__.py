"""What a process may not do: system-call filters, /proc masks, separate copies of programs, fork servers."""
