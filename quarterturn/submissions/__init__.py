"""Submissions as rows: requests, quotas, the queue and its leases."""
