"""What several state kinds use: schema checks, wrong texts, and the shared part of backend programs."""
