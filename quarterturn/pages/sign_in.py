"""Sign-in page and error page. Pure."""

from __future__ import annotations

from quarterturn.pages.templates import render


def page(secure: bool, *, to: str = "", wrong: bool = False) -> str:  # noqa: FBT001 - what the address begins with
    """Draw the form; `to` is where to go on afterwards."""
    return render("sign-in.html.jinja", here="/sign-in", secure=secure, to=to, wrong=wrong)


def problem(status: int, title: str, step: str, *, other_token: bool) -> str:
    """Draw an error page; `step` says more about the request, `other_token` whether another token could open it."""
    return render("problem.html.jinja", here="", status=status, problem=title, step=step, other_token=other_token)
