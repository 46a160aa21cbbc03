"""Accounts."""

from __future__ import annotations

from typing import Any

from sandbox.kinds.forge.backend.handlers.call import ApiCall
from sandbox.kinds.forge.backend.protocol.errors import not_found
from sandbox.kinds.forge.backend.protocol.urls import API, USER, WEB, node_id
from sandbox.kinds.forge.backend.protocol.web import HttpResponse
from sandbox.kinds.forge.backend.storage.state import ForgeState


def simple(state: ForgeState, login: str) -> dict[str, Any]:
    """Render an account as other things show it."""
    user = state.users[login]
    home = f"{API}/users/{login}"
    return {
        "login": login,
        "id": user["id"],
        "node_id": node_id(user["type"], user["id"]),
        "avatar_url": f"https://avatars.githubusercontent.com/u/{user['id']}?v=4",
        "gravatar_id": "",
        "url": home,
        "html_url": f"{WEB}/{login}",
        **{name: home + rest for name, rest in USER.items()},
        "type": user["type"],
        "user_view_type": "public",
        "site_admin": False,
    }


def simple_or_none(state: ForgeState, login: str | None) -> dict[str, Any] | None:
    """Render an account, or nobody."""
    return simple(state, login) if login is not None else None


def get_user(call: ApiCall) -> HttpResponse:
    """GET /users/{username}."""
    login = call.state.login(call.parts["username"])
    if login is None:
        raise not_found()
    user = call.state.users[login]
    public = [repo for repo in call.state.repositories() if repo.owner == login and not repo.record["private"]]
    about = {name: user[name] for name in ("name", "company", "location", "bio")}
    body = {
        **simple(call.state, login),
        **about,
        "blog": "",
        "email": None,
        "hireable": None,
        "twitter_username": None,
        "public_repos": len(public),
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": user["created_at"],
        "updated_at": user["created_at"],
    }
    return HttpResponse(200, body)
