"""The tables of the job store, and how those of earlier releases become these."""

SCHEMA = """
create table jobs (
    seq integer primary key autoincrement,   -- order of arrival
    id text not null unique,
    key text unique,                         -- the sender's; a second sending finds the first job
    user text not null,
    name text not null,
    virtual_cluster text not null,
    state text not null,
    stage text not null,
    reason text not null,
    spec text not null,                      -- JSON; pins are added before the first attempt
    created_at text not null,
    started_at text,
    finished_at text,
    stop_requested integer not null default 0,
    retries integer not null default 0,      -- attempts after a fault of the user's code
    platform_faults integer not null default 0,  -- in a row
    not_before real not null default 0       -- seconds since 1970: no new attempt earlier
);
create index jobs_state on jobs (state, seq);
create index jobs_user on jobs (user, seq);
create table attempts (
    job_id text not null references jobs (id),
    number integer not null,
    state text not null,                     -- RUNNING or final
    placement text not null,
    decision text,                           -- JSON: how it ends, written before a stop
    started_at text not null,
    finished_at text,
    primary key (job_id, number)
);
create table tasks (
    job_id text not null,
    attempt integer not null,
    role text not null,
    idx integer not null,
    state text not null,
    ip text not null,
    container text,
    exit_code integer,
    exit_text text not null default '',
    oom_killed integer not null default 0,
    started_at text,
    finished_at text,
    primary key (job_id, attempt, role, idx)
);
create table events (
    id integer primary key,
    job_id text not null,
    attempt integer not null,
    time text not null,
    stage text not null,
    text text not null
);
create index events_job on events (job_id, id);
"""
# Each brings a database from the version of its place, counted from 1, to the next.
MIGRATIONS = ("""
-- share: the part of the machine that it holds, 0 to 1; limit_s: how long it may run
alter table attempts add column share real not null default 0;
alter table attempts add column limit_s real;
create index jobs_name on jobs (user, name, seq);
create index attempts_finished on attempts (finished_at);
create table settings (name text primary key, value text not null);
""", """
-- placement: each task has the address of its machine
update attempts set placement = json_set(placement, '$.tasks', (
    select json_group_array(json_set(task.value, '$.ip', tasks.ip))
    from json_each(placement, '$.tasks') as task join tasks on tasks.job_id = attempts.job_id
    and tasks.attempt = number and tasks.role = json_extract(task.value, '$.role')
    and tasks.idx = json_extract(task.value, '$.index')));
""", """
-- began, ended: marks of runner/clock.py
alter table attempts add column began text;
alter table tasks add column began text;
alter table tasks add column ended text;
""", """
-- template: source:type/name@version that the text came from, empty: from none
alter table jobs add column template text not null default '';
alter table jobs add column gpus integer not null default 0;
update jobs set template = coalesce(
    json_extract(spec, '$.origin.source') || ':' || json_extract(spec, '$.origin.reference'), ''),
    gpus = (select coalesce(sum(coalesce(json_extract(role.value, '$.instances'), 1)
        * coalesce(json_extract(role.value, '$.resources.gpu'), 0)), 0)
        from json_each(spec, '$.task_roles') as role);
create index jobs_template on jobs (user, template, state);
create index jobs_lasted on jobs (user, started_at, finished_at);
create index jobs_user_state on jobs (user, state);
""")
SCHEMA_VERSION = 1 + len(MIGRATIONS)
