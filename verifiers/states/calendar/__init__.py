"""Calendars (iCalendar files)."""
