"""Two-person approval of protected acts, and the maintainers' signatures."""
