"""The top package: settings, composition root, command line, HTTP service, pages and workers."""
