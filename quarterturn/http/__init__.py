"""HTTP service: the functions of the command line over HTTP, and pages for people.

Nothing is decided here: a route calls the package's services and gives their result. Public routes are given the public
view (`quarterturn.http.responses.public_view`), a folder of published files, and no home, so they cannot disclose
anything else. `quarterturn.http.responses.access` says which scope each route needs. The door is
`quarterturn.http.app.create`.
"""
