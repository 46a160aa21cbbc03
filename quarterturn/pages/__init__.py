"""Pages: self-contained HTML from plain numbers; no script, no outside address, one style sheet, a strict policy.

Of a task a page shows the id at most. The door is `quarterturn.pages.detection_report.page`.
"""
