"""The benchmark month: cohorts, the monthly turn, official runs, publication, and leak detection."""
