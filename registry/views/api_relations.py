"""The HTTP API's routes about what changed between versions, and what is used by whom."""
from __future__ import annotations

from typing import Any

from registry.changelog import difference_of
from registry.changes import Change
from registry.difference import Difference
from registry.entry import Entry
from registry.recommendation import Ranked
from registry.uses import Use, uses_of
from registry.views.api_openapi import Access, Api
from registry.views.auth import viewer_id
from registry.views.entries import component_of, find_entry, resolved_json
from registry.views.models import relations as models
from registry.views.models.components import ComponentQuery
from registry.views.programs import API_PREFIX
from registry.views.services import services
from registry.views.versions import compared

api = Api("api_relations", API_PREFIX)
_ERRORS = (404, 409, 410)


@api.route("GET", "/compare", query=models.CompareQuery, result=models.Comparison,
           access=Access.PUBLIC, errors=_ERRORS)
def compare_versions(query: models.CompareQuery) -> dict[str, Any]:
    """What changed from one version of a component to another: in words, with a verdict.

    Each change is breaking (what worked may fail), compatible or cosmetic; `verdict` is the
    gravest. The two may come from different sources.
    """
    old, new = compared(query.a, query.b)
    return {"a": resolved_json(old), "b": resolved_json(new),
            **difference_json(difference_of(old, new))}


@api.route("GET", "/components/<type_name>/<name>/changelog", query=models.ChangelogQuery,
           result=models.ChangelogPage, access=Access.PUBLIC,
           errors=_ERRORS)
def show_changelog(type_name: str, name: str, query: models.ChangelogQuery) -> dict[str, Any]:
    """What each version changed against the one before, newest first."""
    entry = services().catalog.component(
        f"{query.source}:{type_name}/{name}" if query.source else f"{type_name}/{name}",
        user_id=viewer_id())
    offset = (query.page - 1) * query.page_size
    steps = services().changelog.steps(entry, limit=query.page_size, offset=offset,
                                       user_id=viewer_id())
    total = services().changelog.versions(entry, limit=0, user_id=viewer_id()).total
    return {"total": total, "page": query.page, "page_size": query.page_size, "steps": [
        {"version": resolved_json(step.entry),
         "before": resolved_json(step.before) if step.before else None,
         "difference": difference_json(step.difference) if step.difference else None}
        for step in steps]}


@api.route("GET", "/components/<type_name>/<name>/used-by", query=models.UsersQuery,
           result=models.UsedBy, access=Access.PUBLIC,
           errors=_ERRORS)
def list_users(type_name: str, name: str, query: models.UsersQuery) -> dict[str, Any]:
    """Who uses exactly this version, as references resolve now; and what a yank would change."""
    entry = _entry(type_name, name, query)
    found = services().relations.used_by(
        entry, limit=query.page_size, offset=(query.page - 1) * query.page_size,
        user_id=viewer_id())
    moved = services().relations.consequences(entry, limit=query.page_size,
                                              user_id=viewer_id())
    return {"version": resolved_json(entry), "total": found.total, "page": query.page,
            "page_size": query.page_size,
            "users": [{"version": resolved_json(user.newest), "use": _use_json(user.use),
                       "older": user.older, "is_current": user.is_current}
                      for user in found.users],
            "same": [resolved_json(each) for each in found.same],
            "if_yanked": [{"version": resolved_json(each.user.newest),
                           "use": _use_json(each.user.use),
                           "after": resolved_json(each.after) if each.after else None,
                           "reason": each.reason} for each in moved.first],
            "if_yanked_total": moved.total}


@api.route("GET", "/components/<type_name>/<name>/uses", query=ComponentQuery,
           result=models.Uses, access=Access.PUBLIC,
           errors=_ERRORS)
def list_uses(type_name: str, name: str, query: ComponentQuery) -> dict[str, Any]:
    """What a version uses: references, images, data and scripts, and what they mean now."""
    entry = _entry(type_name, name, query)
    wanted = uses_of(component_of(entry), entry.path)
    found = services().relations.found(wanted, entry.source_id, user_id=viewer_id())
    return {"version": resolved_json(entry), "uses": [
        {**_use_json(use), "found": _resolved(found[use])} for use in wanted]}


@api.route("GET", "/components/<type_name>/<name>/together", query=models.TogetherQuery,
           result=models.Together, access=Access.PUBLIC,
           errors=_ERRORS)
def list_companions(type_name: str, name: str, query: models.TogetherQuery) -> dict[str, Any]:
    """What others use together with a component: in the same jobs, or in the same components."""
    entry = _entry(type_name, name, query)
    found = services().recommendation.together(entry, query.limit, user_id=viewer_id())
    return {"version": resolved_json(entry), "together": [
        {"version": resolved_json(each.entry), "runs": each.runs, "components": each.components}
        for each in found]}


@api.route("GET", "/recommendations", query=models.RecommendationsQuery,
           result=models.Recommendations, access=Access.PUBLIC)
def list_recommendations(query: models.RecommendationsQuery) -> dict[str, Any]:
    """The components that came in last, those that ran most, and those in one's own last jobs."""
    types, limit = tuple(query.type), query.limit
    newest = services().catalog.list_newest(limit, types=types, user_id=viewer_id())
    most = services().recommendation.most_used(limit, types=types, user_id=viewer_id())
    recent = services().recommendation.recent(limit, types=types, user_id=viewer_id())
    return {"newest": [resolved_json(entry) for entry in newest],
            "most_used": [_ranked_json(each) for each in most],
            "recent": [_ranked_json(each) for each in recent]}


def _ranked_json(found: Ranked) -> dict[str, Any]:
    return {"version": resolved_json(found.entry), "runs": found.runs}


def difference_json(difference: Difference) -> dict[str, Any]:
    return {"verdict": difference.verdict, "step": difference.step or None,
            "suggested": difference.suggested or None, "warning": difference.warning,
            "changes": [_change_json(change) for change in difference.changes]}


def _change_json(change: Change) -> dict[str, Any]:
    return {"path": change.path, "area": change.area, "sentence": change.sentence,
            "verdict": change.verdict, "is_new": change.is_new}


def _use_json(use: Use) -> dict[str, Any]:
    return {"kind": use.kind, "type": use.target_type or None, "target": use.target,
            "source": use.target_source or None, "version": use.target_version or None}


def _entry(type_name: str, name: str, query: ComponentQuery) -> Entry:
    version = query.version and f"@{query.version}"
    return find_entry(f"{type_name}/{name}{version}", query.source)


def _resolved(entry: Entry | None) -> dict[str, Any] | None:
    return resolved_json(entry) if entry else None
