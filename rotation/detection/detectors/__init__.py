"""The detectors, and the scan that runs all of them."""
