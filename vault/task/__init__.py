"""A task: its document, its life, its commitment and the variant that a submitter is served."""
