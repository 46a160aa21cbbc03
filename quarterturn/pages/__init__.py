"""HTML pages made from plain data: one style sheet, no outside address, no script but the explorer's, a strict policy.

Of a private task a page shows the id at most. The entry point of the report is
`quarterturn.pages.detection_report.page`.
"""
