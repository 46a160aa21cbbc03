"""What scores give away: leaks, copies, leaked families and broken tasks, found from results alone."""
