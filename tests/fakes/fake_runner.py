"""A runner that runs nothing: its HTTP API on a real unix socket, jobs moved on by the test."""
from __future__ import annotations

import json
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingMixIn, UnixStreamServer
from urllib.parse import parse_qs, unquote, urlsplit

from runner.changes import Changes
from runner.spec import JOB_STATES

NOW = "2026-11-21T08:00:00.000Z"
MACHINE = {"cpus": 8, "memory_mb": 16000, "gpus": [], "gpu_reason": "No NVIDIA driver answers.",
           "virtual_clusters": [{
               "name": "default", "members": None, "max_priority": 0, "time_limit_s": None,
               "quota": {"jobs": None, "cpus": 8, "memory_mb": None, "gpus": None},
               "free": {"jobs": None, "cpus": 5, "memory_mb": None, "gpus": None}}],
           "host_ip": "127.0.0.1", "free": {"cpus": 6, "memory_mb": 12000, "gpus": 0},
           "queue": {"paused": None, "waiting": 0, "running": 0}}


class FakeRunner:
    """Serves below a folder until `close`; `fit` and `outlook` are what every job is told."""

    def __init__(self, folder) -> None:
        self.path = folder / "runner.sock"
        self.paused: str | None = None
        self.jobs: dict[str, dict] = {}
        self.keys: dict[str, str] = {}
        self.logs: dict[tuple, list[dict]] = {}
        self.merged: dict = {"lines": [], "cursor": "1", "is_complete": True}
        self.files: dict[tuple, bytes] = {}
        self.logins: dict[str, list[dict]] = {}
        self.receipts: dict[tuple, dict] = {}
        self.samples: defaultdict[tuple, list[dict]] = defaultdict(list)
        self.fit = {"fit": "now", "reason": "6 of 8 CPUs are free."}
        self.outlook: dict = {
            "expected_start": NOW, "supplies": [],
            "whole": {"cpus": 8, "memory_mb": 16000, "gpus": 0}, "free": MACHINE["free"]}
        self.token: str | None = None
        self.gpus: list[dict] = []
        self.gpu_jobs: dict[str, str] = {}
        self.limits = ""
        self.hang_ups = 0  # so many reads that go on in a log get no answer
        self.changes = Changes()
        self._server = _Server(str(self.path), _Handler)
        self._server.runner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"unix:{self.path}"

    def close(self) -> None:
        self.changes.close()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self.path.unlink(missing_ok=True)

    def machine(self) -> dict:
        return {**MACHINE, "gpus": self.gpus, "queue": {**MACHINE["queue"], "paused": self.paused}}

    def overview(self) -> dict:
        """As the runner tells it; each job that runs holds one CPU."""
        found = {state: [job for job in self.jobs.values() if job["state"] == state]
                 for state in ("RUNNING", "WAITING")}
        return {"running": [{**job, "needs": {"cpus": 1, "memory_mb": 100, "gpus": 0}}
                            for job in found["RUNNING"]],
                "waiting": [{**job, "position": number, "expected_start": NOW}
                            for number, job in enumerate(found["WAITING"], 1)],
                "gpu_jobs": self.gpu_jobs, "disk": {"total": 100 << 30, "free": 40 << 30},
                "versions": {"docker": "20.10", "kernel": "6.1", "cgroups": "2",
                             "gpu_driver": None}, "engine_problem": None}

    def enqueue(self, spec: dict, key: str | None) -> tuple[dict, int]:
        if key in self.keys:
            return self.jobs[self.keys[key]], 200
        id_ = f"{len(self.jobs) + 1:012x}"
        origin = spec["origin"]
        template = (f"{origin['source']}:{origin['reference']}" if "reference" in origin else "")
        self.jobs[id_] = {
            "id": id_, "name": spec["name"], "user": spec["user"], "virtual_cluster": "default",
            "state": "WAITING", "stage": "queue", "reason": "It waits for its turn.",
            "created_at": NOW, "started_at": None, "finished_at": None, "stop_requested": False,
            "retries": 0, "spec": spec, "template": template, "gpus": sum(
                role["instances"] * role["resources"]["gpu"] for role in spec["task_roles"]),
            "progress": None, "pulls": [], "attempts": [],
            "events": [{"time": NOW, "stage": "setup", "text": "The job has arrived.",
                        "attempt": 0}]}
        if key:
            self.keys[key] = id_
        self.changes.changed(id_)
        return self.jobs[id_], 201

    def start(self, id_: str) -> None:
        """Give the job its next attempt, with every task running."""
        job = self.jobs[id_]
        tasks = [{"role": role["name"], "index": index, "state": "RUNNING", "ip": "127.0.0.1",
                  "ports": {port["label"]: [20000 + at for at in range(port["count"])]
                            for port in role["ports"]},
                  "gpus": [], "exit_code": None, "exit_text": "", "oom_killed": False,
                  "started_at": NOW, "finished_at": None, "container": "0123456789ab",
                  "usage": None}
                 for role in job["spec"]["task_roles"] for index in range(role["instances"])]
        job["attempts"].append({"number": len(job["attempts"]) + 1, "state": "RUNNING",
                                "cause": "none", "reason": "", "started_at": NOW,
                                "finished_at": None, "tasks": tasks})
        job.update(state="RUNNING", stage="run", reason="1 task runs.", started_at=NOW)
        self.changes.changed(id_)

    def write(self, id_: str, text: str, stream: str = "stdout", task=("main", 0)) -> None:
        place = (id_, len(self.jobs[id_]["attempts"]), *task)
        self.logs.setdefault(place, []).append({"stream": stream, "time": NOW, "text": text})
        self.changes.grew(id_)

    def leave(self, id_: str, path: str, content: bytes, task=("main", 0)) -> None:
        self.files[(id_, len(self.jobs[id_]["attempts"]), *task, path)] = content

    def end(self, id_: str, state: str, reason: str, code: int = 0) -> None:
        job = self.jobs[id_]
        for attempt in job["attempts"][-1:]:
            attempt.update(state=state, reason=reason, finished_at=NOW)
            for task in attempt["tasks"]:
                task.update(state=state, exit_code=code, exit_text=f"exit code {code}",
                            finished_at=NOW)
            self.receipts[id_, attempt["number"]] = {
                "format": 1, "job": id_, "attempt": attempt["number"], "state": state,
                "cause": "none", "reason": reason, "started_at": NOW, "finished_at": NOW,
                "wall_s": 61.5, "spec": job["spec"],
                "machine": {"cpus": 8, "memory_mb": 16000, "docker": "20.10", "kernel": "6.1",
                            "cgroups": "2", "gpu_driver": None},
                "tasks": [{**{key: task[key] for key in (
                    "role", "index", "state", "exit_code", "exit_text", "oom_killed", "started_at",
                    "finished_at")}, "wall_s": 61.5, "cpu_s": 12.0, "peak_memory": 64 << 20,
                    "gpus": []} for task in attempt["tasks"]]}
        job.update(state=state, stage="end", reason=reason, finished_at=NOW)
        self.changes.changed(id_)


def summary(job: dict) -> dict:
    """A job as lists have it."""
    hidden = ("spec", "attempts", "events", "progress", "pulls")
    return {key: value for key, value in job.items() if key not in hidden}


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    runner: FakeRunner

    def handle_error(self, *_: object) -> None:
        """A client that has gone away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def address_string(self) -> str:
        return "unix"

    def _serve(self, method: str) -> None:
        runner: FakeRunner = self.server.runner  # type: ignore[attr-defined]
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if runner.token and self.headers.get("Authorization") != f"Bearer {runner.token}":
            self._json({"code": "Unauthorized", "message": "no", "errors": []}, 401)
            return
        try:
            self._route(runner, method, parts, query, body)
        except (KeyError, IndexError):
            self._json({"code": "NotFound", "message": "There is no such thing.", "errors": []},
                       404)

    def _route(self, runner: FakeRunner, method: str, parts: list[str], query: dict[str, str],
               body: dict) -> None:
        match method, parts:
            case "GET", ["health"]:
                self._json({"status": "ok"})
            case "GET", ["metrics"]:
                self._bytes(b"paishare_jobs 1\n", media="text/plain")
            case "GET", ["machine"]:
                self._json(runner.machine())
            case "GET", ["overview"]:
                self._json(runner.overview())
            case "GET" | "PUT", ["limits"]:
                runner.limits = body.get("text", runner.limits)
                self._json({"file": "/srv/clusters.json", "text": runner.limits, "users": {},
                            "per_user": {"jobs": 4, "cpus": None, "memory_mb": None,
                                         "gpus": None}})
            case "GET", ["queue"]:
                self._json({**MACHINE["queue"], "paused": runner.paused})
            case "POST", ["queue", change]:
                runner.paused = body["reason"] if change == "pause" else None
                self._json({**MACHINE["queue"], "paused": runner.paused})
            case "POST", ["explain"]:
                self._json(runner.fit)
            case "POST", ["outlook"]:
                runner.logins["outlook"] = body["logins"]
                self._json({**runner.fit, **runner.outlook})
            case "POST", ["jobs"]:
                job, status = runner.enqueue(body["spec"], self.headers.get("Idempotency-Key"))
                runner.logins[job["id"]] = body["logins"]
                self._json(job, status)
            case "GET", ["jobs"]:
                self._list(runner, query)
            case "GET", ["changes"]:
                news = runner.changes.since(query.get("since", ""), int(query.get("wait_s", 0)))
                self._json({"mark": news.mark, "is_all": news.is_all, "logs": news.logs,
                            "jobs": [summary(runner.jobs[id_]) for id_ in news.jobs]})
            case "GET", ["jobs", id_]:
                self._json(runner.jobs[id_])
            case "POST", ["jobs", id_, "stop"]:
                runner.jobs[id_]["stop_requested"] = True
                self._json(runner.jobs[id_], 202)
            case "POST", ["jobs", id_, "release"]:
                for attempt in runner.jobs[id_]["attempts"]:
                    attempt["kept"] = None
                self._json(runner.jobs[id_])
            case "GET", ["jobs", id_, "artifacts"]:
                found = [{"attempt": key[1], "role": key[2], "index": key[3], "path": key[4],
                          "size": len(content), "modified": NOW, "sha256": None}
                         for key, content in runner.files.items() if key[0] == id_]
                limit = int(query.get("limit", 1000))
                self._json({"artifacts": found[:limit], "count": len(found), "is_cut": False,
                            "next": "1/main-0/x" if len(found) > limit else None, "notice": None,
                            "size": sum(item["size"] for item in found)})
            case "GET", ["jobs", id_, "archive"]:
                self._bytes(b"PK", media="application/zip")
            case "GET", ["jobs", id_, "log"]:
                self._json(runner.merged)
            case "GET", ["jobs", id_, "log", "raw"]:
                self._bytes(b"1/main-0 | text\n", media="text/plain")
            case "GET", ["jobs", id_, "artifacts", attempt, role, index, *path]:
                self._bytes(runner.files[(id_, int(attempt), role, int(index), "/".join(path))])
            case "GET", ["jobs", id_, "attempts", attempt, "receipt"]:
                self._json(runner.receipts[id_, int(attempt)])
            case "GET", ["jobs", id_, "attempts", attempt, "tasks", role, index, "metrics"]:
                self._json({"samples": runner.samples[id_, int(attempt), role, int(index)]})
            case "GET", ["jobs", id_, "attempts", _, "tasks", role, index, "log", "search"]:
                place = (id_, int(parts[3]), role, int(index))
                lines = "".join(record["text"] for record in runner.logs.get(place, [])).split("\n")
                self._json({"has_more": False, "lines": [
                    {"number": number, "stream": "stdout", "time": NOW, "text": line}
                    for number, line in enumerate(lines, 1) if query["text"] in line]})
            case "GET", ["jobs", id_, "attempts", attempt, "tasks", role, index, "log", *raw]:
                self._log(runner, (id_, int(attempt), role, int(index)), query, bool(raw))
            case _:
                raise KeyError(parts)

    def _list(self, runner: FakeRunner, query: dict[str, str]) -> None:
        asked = [job for job in reversed(runner.jobs.values())
                 if query.get("user") in (None, job["user"])
                 and query.get("name") in (None, job["name"])
                 and query.get("text", "") in job["name"]
                 and query.get("template", "") in job["template"]]
        found = [job for job in asked
                 if ("state" not in query or job["state"] in query["state"].split(","))
                 and ("before" not in query or job["id"] < query["before"])]
        if query.get("sort") == "oldest":
            found.reverse()
        found, limit = found[int(query.get("offset", 0)):], int(query.get("limit", 50))
        self._json({"jobs": [summary(job) for job in found[:limit]],
                    "counts": {state: sum(job["state"] == state for job in asked)
                               for state in JOB_STATES},
                    "next": found[limit - 1]["id"] if len(found) > limit else None})

    def _log(self, runner: FakeRunner, place: tuple, query: dict[str, str], is_raw: bool) -> None:
        records = [record for record in runner.logs.get(place, [])
                   if query.get("stream") in (None, record["stream"])]
        if is_raw:
            self._bytes("".join(record["text"] for record in records).encode())
            return
        offset = int(query.get("offset", 0))
        if offset and runner.hang_ups:
            runner.hang_ups -= 1
            self.close_connection = True
            return
        is_over = runner.jobs[place[0]]["finished_at"] is not None
        self._json({"records": records[offset:], "offset": len(records), "is_complete": is_over})

    def _json(self, body: dict, status: int = 200) -> None:
        self._bytes(json.dumps(body).encode(), status, "application/json")

    def _bytes(self, body: bytes, status: int = 200, media: str = "application/octet-stream"
               ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
