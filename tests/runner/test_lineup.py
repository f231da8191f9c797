"""Whose turn it is, and that nobody is delayed by who goes first."""
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.devices import Gpu
from runner.lineup import (
    BEHIND,
    FULL,
    LIMITED,
    OUTSIDE,
    PATIENCE_S,
    START,
    Held,
    Round,
    Waiting,
    forecast,
    in_order,
)
from runner.room import Bounds, Needs, Room

GPUS = tuple(Gpu(index=i, uuid=f"GPU-{i}", model="A100" if i < 2 else "V100", memory_mb=1)
             for i in range(4))
EMPTY = Room(cpus=8, memory_mb=8000, gpus=frozenset(GPUS))


def waiting(seq, cpus=1, *, gpus=0, gpu_type="", limit_s=None, user="ann", priority=0,
            arrived_s=0.0, share=0.0, quotas=(), ports=()):
    return Waiting(id=f"job{seq}", seq=seq, user=user, priority=priority, arrived_s=arrived_s,
                   limit_s=limit_s, share=share, needs=Needs(
                       cpus=cpus, memory_mb=1, gpus=gpus, gpu_type=gpu_type, quotas=quotas,
                       ports=frozenset(ports)))


def held(cpus=1, ends_s=None, gpus=(), gpu_type="", quotas=()):
    return Held(ends_s=ends_s, gpus=frozenset(gpus), needs=Needs(
        cpus=cpus, memory_mb=1, gpus=len(gpus), gpu_type=gpu_type, quotas=quotas))


def a_round(*running, now_s=0.0, whole=EMPTY):
    free = whole
    for each in running:
        free = free.less(each.needs, each.gpus)
    return Round(free, list(running), now_s)


def judge(this, *jobs):
    """The verdict on each job in turn, each acted upon as the runner does."""
    verdicts = []
    for job in jobs:
        verdicts.append(this.verdict(job))
        if verdicts[-1] == START:
            this.start(job, this.gpus_for(job))
        else:
            this.hold(job)
    return verdicts


def ids(jobs):
    return [job.seq for job in jobs]


# -- order ----------------------------------------------------------------------------------------


def test_priority_comes_before_fair_share_and_that_before_age():
    jobs = [waiting(1, user="ann"), waiting(2, user="bob"), waiting(3, user="ann", priority=1)]
    assert ids(in_order(jobs, {"ann": 7200.0, "bob": 0.0}, 0)) == [3, 2, 1]


def test_users_who_had_the_same_go_by_age():
    jobs = [waiting(2, user="bob"), waiting(1, user="ann"), waiting(3, user="bob")]
    assert ids(in_order(jobs, {"ann": 30.0}, 0)) == [1, 2, 3]


def test_users_take_turns_by_what_their_jobs_will_hold():
    jobs = [waiting(n, user="ann", share=0.5, limit_s=3600) for n in range(3)] + [
        waiting(n, user="bob", share=0.25, limit_s=3600) for n in range(3, 7)]
    assert ids(in_order(jobs, {}, 0)) == [0, 3, 4, 1, 5, 6, 2]


def test_a_job_that_has_waited_a_week_goes_before_every_priority():
    late = waiting(9, arrived_s=0)
    jobs = [waiting(1, priority=100, arrived_s=PATIENCE_S), late]
    assert ids(in_order(jobs, {}, PATIENCE_S - 1)) == [1, 9]
    assert ids(in_order(jobs, {}, PATIENCE_S)) == [9, 1]


# -- who goes first -------------------------------------------------------------------------------


def test_what_fits_starts():
    assert judge(a_round(), waiting(1, 4), waiting(2, 4)) == [START, START]


def test_a_job_passes_the_first_one_only_where_it_ends_in_time():
    this = a_round(held(6, ends_s=100))
    assert judge(this, waiting(1, 4), waiting(2, 1, limit_s=101, priority=0),
                 waiting(3, 1, limit_s=100)) == [FULL, START, START]
    this = a_round(held(6, ends_s=100))
    assert judge(this, waiting(1, 8), waiting(2, 1, limit_s=101), waiting(3, 1, limit_s=100),
                 waiting(4, 1)) == [FULL, BEHIND, START, BEHIND]


def test_without_time_limits_a_job_passes_only_beside_what_the_first_one_needs():
    this = a_round(held(2, gpus=GPUS))
    assert judge(this, waiting(1, 4, gpus=1), waiting(2, 2), waiting(3, 1)) == [
        FULL, START, BEHIND]


def test_gpus_of_another_type_may_pass_the_first_job():
    this = a_round(held(1, gpus=GPUS[:1]))
    first = waiting(1, 1, gpus=2, gpu_type="A100")
    assert judge(this, first, waiting(2, 1, gpus=1, gpu_type="A100"),
                 waiting(3, 1, gpus=2)) == [FULL, BEHIND, START]
    assert this.free.gpus == {GPUS[1]}


def test_a_full_quota_holds_up_only_its_own_jobs():
    quota = {"vision": Bounds(gpus=2)}
    whole = Room(cpus=8, memory_mb=8000, gpus=frozenset(GPUS), quotas=quota)
    this = a_round(held(1, gpus=GPUS[:1], quotas=("vision",)), whole=whole)
    assert judge(this, waiting(1, gpus=2, quotas=("vision",)),
                 waiting(2, gpus=1, quotas=("vision",)), waiting(3, quotas=("vision",)),
                 waiting(4, gpus=3)) == [LIMITED, BEHIND, START, START]


def test_in_a_full_quota_what_ends_in_time_may_pass():
    whole = Room(cpus=8, memory_mb=8000, quotas={"vision": Bounds(cpus=4)})
    this = a_round(held(2, ends_s=50, quotas=("vision",)), whole=whole)
    assert judge(this, waiting(1, 4, quotas=("vision",)),
                 waiting(2, 1, limit_s=51, quotas=("vision",)),
                 waiting(3, 1, limit_s=50, quotas=("vision",))) == [LIMITED, BEHIND, START]


def test_what_other_programs_hold_is_reserved_for_nobody():
    three_left = Room(cpus=8, memory_mb=8000, gpus=frozenset(GPUS[:3]))
    this = Round(three_left, [], 0)
    assert judge(this, waiting(1, 1, gpus=4), waiting(2, 8, gpus=3)) == [OUTSIDE, START]


def test_a_fixed_port_that_a_job_holds_is_waited_for():
    this = a_round(Held(needs=Needs(cpus=1, memory_mb=1, ports=frozenset({8080})), ends_s=60))
    assert judge(this, waiting(1, ports=[8080]), waiting(2, ports=[8080], limit_s=60)) == [
        FULL, FULL]
    assert this.reserved_s() == 60


# -- expected start -------------------------------------------------------------------------------


def test_expected_starts_follow_from_the_ends_that_are_known():
    running = [held(8, ends_s=100)]
    jobs = [waiting(1, 8, limit_s=50), waiting(2, 8, limit_s=10), waiting(3, 4), waiting(4, 8)]
    free = a_round(*running).free
    assert forecast(jobs, free, running, 0) == {"job1": 100, "job2": 150, "job3": 160}


# -- properties -----------------------------------------------------------------------------------

NEEDS = st.builds(
    lambda cpus, gpus, gpu_type, ports, quotas: Needs(
        cpus=cpus, memory_mb=1, gpus=min(gpus, 2) if gpu_type else gpus, gpu_type=gpu_type,
        ports=frozenset(ports), quotas=tuple(quotas)),
    st.integers(1, 8), st.integers(0, 4), st.sampled_from(["", "", "A100", "V100"]),
    st.sets(st.sampled_from([8080, 8081]), max_size=1),
    st.sets(st.sampled_from(["vision", "ann"]), max_size=2))
LIMITS = st.one_of(st.none(), st.integers(1, 20).map(float))
STREAM = st.lists(st.tuples(NEEDS, LIMITS, st.integers(0, 2), st.sampled_from("abc")), max_size=14)
QUOTAS = {"vision": Bounds(cpus=8, gpus=4), "ann": Bounds(jobs=2)}
WHOLE = Room(cpus=8, memory_mb=8000, gpus=frozenset(GPUS), quotas=QUOTAS)


def jobs_of(stream, *, all_end=False):
    """Jobs whose order stays as it is: who had more by now is another matter."""
    return [Waiting(id=str(seq), seq=seq, user=user, needs=needs, priority=priority, arrived_s=0.0,
                    limit_s=limit_s or (7.0 if all_end else None))
            for seq, (needs, limit_s, priority, user) in enumerate(stream)]


def check_is_sound(free, running):
    """Nothing is promised twice, and room and promises together are the whole machine."""
    gpus = [gpu for each in running for gpu in each.gpus]
    ports = [port for each in running for port in each.needs.ports]
    assert len(set(gpus)) == len(gpus) and len(set(ports)) == len(ports)
    assert not set(gpus) & free.gpus
    assert free.cpus >= 0 and free.memory_mb >= 0
    for bounds in free.quotas.values():
        assert all(left is None or left >= 0 for left in vars(bounds).values())
    for each in running:
        assert len(each.gpus) == each.needs.gpus
        assert not each.needs.gpu_type or {gpu.model for gpu in each.gpus} <= {each.needs.gpu_type}
        free = free.plus(each.needs, each.gpus)
    assert free == WHOLE


def one_pass(free, running, left, now_s, *, is_backfilled=True):
    """Returns the room, who runs, who still waits, and the round.

    Without backfill nothing starts once a job waits.
    """
    this, waits = Round(free, list(running), now_s), []
    for job in in_order(left, {}, now_s):
        if this.verdict(job) == START and (is_backfilled or not waits):
            this.start(job, this.gpus_for(job))
        else:
            this.hold(job)
            waits.append(job)
    return this.free, this.running, waits, this


def advance(free, running):
    """To the next end: its time, the room then, and who still runs."""
    ends = [each.ends_s for each in running if each.ends_s is not None]
    if not ends:
        return None
    now_s = min(ends)
    ended = [each for each in running if each.ends_s == now_s]
    for each in ended:
        free = free.plus(each.needs, each.gpus)
    return now_s, free, [each for each in running if each.ends_s != now_s]


@settings(deadline=None, max_examples=150)
@given(STREAM)
def test_nothing_is_ever_promised_twice(stream):
    free, running, left, now_s = WHOLE, [], jobs_of(stream), 0.0
    while True:
        free, running, left, _ = one_pass(free, running, left, now_s)
        check_is_sound(free, running)
        moved = advance(free, running)
        if moved is None:
            return
        now_s, free, running = moved


@settings(deadline=None, max_examples=150)
@given(STREAM)
def test_the_first_job_that_waits_never_starts_later_than_was_reserved_for_it(stream):
    free, running, left, now_s = WHOLE, [], jobs_of(stream), 0.0
    promised = {}
    while True:
        before = {job.id for job in left}
        free, running, left, this = one_pass(free, running, left, now_s)
        for id_ in before - {job.id for job in left}:
            assert now_s <= promised.get(id_, now_s)
        if left and this.first is left[0] and this.reserved_s() is not None:
            assert this.reserved_s() <= promised.get(left[0].id, this.reserved_s())
            promised[left[0].id] = this.reserved_s()
        moved = advance(free, running)
        if moved is None:
            return
        now_s, free, running = moved


@settings(deadline=None, max_examples=150)
@given(STREAM)
def test_the_first_job_starts_as_early_with_others_passing_it_as_without(stream):
    ends = [start_of_the_first(stream, is_backfilled) for is_backfilled in (True, False)]
    assert ends[0] == ends[1]


def start_of_the_first(stream, is_backfilled):
    """The first job that has the machine reserved for it, and when it starts."""
    free, running, left, now_s = WHOLE, [], jobs_of(stream), 0.0
    target = None
    while True:
        free, running, left, this = one_pass(free, running, left, now_s,
                                             is_backfilled=is_backfilled)
        if target is None and (not left or this.first is not left[0]):
            return None, None  # the first one waits for a quota without a known end, if at all
        target = target or left[0].id
        if target not in {job.id for job in left}:
            return target, now_s
        moved = advance(free, running)
        if moved is None:
            return target, None
        now_s, free, running = moved


@settings(deadline=None, max_examples=150)
@given(STREAM)
def test_every_job_runs_once_where_every_job_ends(stream):
    free, running, left, now_s = WHOLE, [], jobs_of(stream, all_end=True), 0.0
    while left:
        free, running, left, _ = one_pass(free, running, left, now_s)
        moved = advance(free, running)
        if moved:
            now_s, free, running = moved
        else:
            assert not left
