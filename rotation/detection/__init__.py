"""Detection of leaks, copies, leaked families and broken tasks from results, and tracing of leaked texts."""
