"""What every server's folder uses: the `Server` record, schema checks, recorded tools, wrong texts."""
