"""Dependencies of the routes: the services that they are given."""
