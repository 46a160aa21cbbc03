"""Tasks: the document, its lifecycle, and the variant that each submitter is served."""
