"""The service: the same functions as the command line's, over HTTP.

Nothing is decided here: a route asks the hall and says what came of it. Public routes are given the public view
(`quarterturn.http.answers.view`), a folder of published files, and no house: what is not published is not there to be
told. `quarterturn.http.answers.access` says which scope each route needs. The door is `quarterturn.http.app.create`.
"""
