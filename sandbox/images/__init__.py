"""Container images (relay, servers, world, two example agents) and how they are built."""
