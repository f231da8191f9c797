"""Answers of the HTTP API, as short as the command line needs them."""


def job(state="SUCCEEDED", *, attempts=1, instances=1, is_started=True, events=(), **rest):
    tasks = [{"role": "main", "index": index, "state": state, "ip": "10.0.0.2", "ports": {},
              "exit_code": 0, "exit_text": "ended by itself",
              "started_at": "2026-01-02T03:04:05Z" if is_started else None}
             for index in range(instances)]
    return {"id": "7", "name": "digits", "user": "ann", "state": state, "reason": "All is well.",
            "url": "http://server/jobs/7", "warnings": [], "created_at": "2026-01-02T03:04:05Z",
            "started_at": None, "finished_at": None, "progress": None, "pulls": [],
            "spec": {"task_roles": [{"name": "main", "instances": instances}]},
            "events": [{"time": "2026-01-02T03:04:05Z", "stage": stage, "text": text, "attempt": 1}
                       for stage, text in events],
            "attempts": [{"number": number + 1, "tasks": tasks} for number in range(attempts)],
            **rest}


def page(*texts, offset=0, is_complete=True):
    return {"records": [{"stream": "stdout", "time": "2026-01-02T03:04:05Z", "text": text}
                        for text in texts], "offset": offset, "is_complete": is_complete}


def lines(*found, cursor="1.1", is_complete=True):
    """A page of a merged log: index of the task and text of each line."""
    return {"lines": [{"attempt": 1, "role": "main", "index": index, "stream": "stdout",
                       "time": "2026-01-02T03:04:05Z", "text": text} for index, text in found],
            "cursor": cursor, "is_complete": is_complete}


def outlook(**rest):
    missing = {"busybox:1": ("image", 0), "https://h.org/x": ("file", 1_500_000),
               "https://h.org/y": ("git", None)}
    return {"fit": "now", "reason": "6 of 8 CPUs are free.", "expected_start": None,
            "supplies": [{"kind": kind, "uri": uri, "missing": count}
                         for uri, (kind, count) in missing.items()],
            "whole": {"cpus": 8, "memory_mb": 16000, "gpus": 1},
            "free": {"cpus": 6, "memory_mb": 12000, "gpus": 0},
            "warnings": [{"message": "job/digits is deprecated."}], **rest}


def component(name="digits", **rest):
    return {"type": "job", "name": name, "reference": f"job/{name}@1.0.0", "version": "1.0.0",
            "contributor": "ann", "description": "Reads\ndigits", **rest}


def found(*hits, total=None, suggestions=()):
    return {"total": len(hits) if total is None else total, "page": 1, "page_size": 20,
            "facets": {}, "suggestions": list(suggestions), "components": list(hits)}
