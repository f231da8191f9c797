"""What every engine keeps to, whatever runs the containers; engines.py lists them."""
import itertools
import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.container import LABEL
from runner.engine import CREATED, ENDED, RUNNING, STOPPED_OUTSIDE, Exit
from runner.errors import EngineError, NoShellError
from runner.launch import LABEL_JOB, container_name
from runner.room import needs_of
from runner.spec import Input, PortRequest
from runner.task_log import iter_log
from tests.functional.engines import ENGINES, Heard, free_port, job, reserved, role
from tests.functional.runner_process import IMAGE, wait_for

GRACE_S = 60  # longer than a test may last: whatever ends by force has failed it


@pytest.fixture(scope="module", params=ENGINES)
def under_test(request, tmp_path_factory, busybox_image):
    made = ENGINES[request.param](tmp_path_factory.mktemp("engine"))
    yield made
    made.close()


@pytest.fixture
def engine(under_test):
    yield under_test.engine
    for key in under_test.engine.found():
        under_test.engine.fence(key)
    for key in under_test.engine.promised():
        under_test.engine.release(key)


@pytest.fixture
def key():
    return secrets.token_hex(6), 1


def containers(under_test, key):
    return under_test.docker.containers.list(all=True, filters={"label": f"{LABEL_JOB}={key[0]}"})


def log_of(under_test, gang, slot=("main", 0), stream=None):
    return b"".join(iter_log(under_test.folders.log(*gang.key, *slot), stream))


def run(engine, key, *roles):
    """A gang from its promise to the end of all its slots."""
    gang, heard = reserved(engine, key, job(*roles)), Heard()
    engine.start(gang, gang.slots, heard)
    heard.exits(len(gang.slots))
    return gang, heard


# -- promises -------------------------------------------------------------------------------------


FIXED = st.sampled_from([0, 0, free_port()])
ROLES = st.builds(dict, instances=st.integers(1, 3), cpu=st.integers(1, 3), gpu=st.integers(0, 3),
                  memory_mb=st.sampled_from([100, 900]), ports=st.builds(
                      lambda port: (PortRequest(label="p", begin_at=port),), FIXED))
STREAMS = st.lists(st.lists(ROLES, min_size=1, max_size=2), min_size=2, max_size=6)


def gangs_of(stream):
    for number, roles in enumerate(stream):
        yield (f"gang{number}", 1), job(*(
            role(f"r{index}", **values) for index, values in enumerate(roles)))


@given(stream=STREAMS)
@settings(max_examples=40, deadline=None)
def test_of_gangs_that_ask_at_once_each_gets_all_or_nothing_and_nothing_is_promised_twice(
        under_test, stream):
    engine, gangs = under_test.engine, dict(gangs_of(stream))
    gpus = [gpu for machine in engine.capacity() for gpu in machine.gpus]

    def ask(item):
        return item[0], engine.reserve(*item, gpus)
    try:
        with ThreadPoolExecutor(len(gangs)) as pool:
            given_ = dict(pool.map(ask, gangs.items()))
        got = {key: placement for key, placement in given_.items() if placement}
        assert engine.promised() == set(got)
        check_whole(gangs, got)
        check_apart(engine, gangs, got)
        for key, spec in gangs.items():
            if key in got:
                assert engine.reserve(key, spec, gpus) == got[key]
            else:
                assert engine.explain(spec).fit != "now"
    finally:
        for key in gangs:
            engine.release(key)
    assert engine.promised() == set()
    whole = reserved(engine, ("whole", 1), job(role(cpu=4, gpu=4, memory_mb=2000)))
    engine.release(whole.key)
    engine.release(whole.key)


def check_whole(gangs, got):
    """Every task has all that its role asks for, on a machine."""
    for key, placement in got.items():
        wanted = {(each.name, index): each for each in gangs[key].task_roles
                  for index in range(each.instances)}
        assert {(task.role, task.index) for task in placement.tasks} == set(wanted)
        for task in placement.tasks:
            asked = wanted[task.role, task.index]
            assert len(task.gpus) == asked.resources.gpu and task.ip
            assert len(task.ports["p"]) == len(task.ports["http"]) == 1
            assert asked.ports[0].begin_at in (0, *task.ports["p"])


def check_apart(engine, gangs, got):
    """No GPU or port is in two live slots, and no machine gives more than it has."""
    tasks = [task for placement in got.values() for task in placement.tasks]
    twice = Counter(itertools.chain(
        *(task.gpus for task in tasks),
        ((task.ip, port) for task in tasks for block in task.ports.values() for port in block)))
    assert not [what for what, count in twice.items() if count > 1]
    needs = [needs_of(gangs[key]) for key in got]
    machines = engine.capacity()
    assert sum(each.cpus for each in needs) <= sum(each.cpus for each in machines)
    assert sum(each.memory_mb for each in needs) <= sum(each.memory_mb for each in machines)


def test_only_gpus_that_the_gang_may_have_are_promised(engine, key):
    last = engine.capacity()[-1].gpus[-1]
    assert engine.reserve(key, job(role(gpu=2)), [last]) is None
    assert engine.reserve(key, job(role(gpu=1)), [last]).tasks[0].gpus == (last.uuid,)


def test_a_promise_from_before_counts_in_a_new_engine(under_test, engine, key):
    gang = reserved(engine, key, job(role(cpu=4)))
    under_test.restart()
    assert under_test.engine.promised() == set()
    under_test.engine.hold(gang)
    assert under_test.engine.explain(job(role())).fit == "later"
    assert under_test.engine.reserve(key, gang.spec, []) == gang.placement


def test_explain_tells_now_later_and_never_and_why(engine, key):
    assert engine.explain(job(role(cpu=4))).fit == "now"
    gang = reserved(engine, key, job(role(cpu=3, gpu=4)))
    later, never = engine.explain(job(role(gpu=1))), engine.explain(job(role(gpu=5)))
    assert (later.fit, later.reason) == ("later", "Waits for 1 GPU: 0 of 4 are free.")
    assert never.fit == "never" and never.reason.startswith("Needs 5 GPUs, but this machine has 4")
    assert engine.explain(job(role(cpu=2))).reason == "Waits for 2 CPUs: 1 of 4 is free."
    engine.release(gang.key)
    assert engine.explain(job(role(gpu=1))).fit == "now"


def test_explain_names_a_fixed_port_that_another_gang_has(engine, key):
    port = free_port()
    asks = role(ports=(PortRequest(label="p", begin_at=port),))
    reserved(engine, key, job(asks))
    assert engine.explain(job(asks)).reason == (
        f"Waits for port {port}: held by another job or program.")


# -- containers -----------------------------------------------------------------------------------


def test_a_slot_that_is_started_twice_has_one_container_and_its_end_is_told_to_who_listens_last(
        under_test, engine, key):
    gang = reserved(engine, key, job(role(
        "main", "until [ -e /paishare/output/go ]; do sleep 0.05; done", "exit 3")))
    first, second = Heard(), Heard()
    engine.start(gang, gang.slots, first)
    engine.start(gang, gang.slots, second)
    assert engine.look(gang) == {("main", 0): RUNNING}
    (under_test.folders.output(*key, "main", 0) / "go").touch()
    assert second.exits(1) == {("main", 0): Exit(code=3)} and first.told == []
    assert [each.id for each in containers(under_test, key)] == list(second.containers.values())


def test_an_end_is_told_once_and_again_to_a_listener_that_comes_later(under_test, engine, key):
    gang, heard = run(engine, key, role("main", "exit 3"))
    assert heard.told == [(("main", 0), Exit(code=3))]
    assert engine.look(gang) == {("main", 0): ENDED}
    later = Heard()
    engine.adopt(gang, gang.slots, later)
    assert later.exits(1) == {("main", 0): Exit(code=3)} and len(heard.told) == 1


def test_the_log_is_what_was_written_byte_for_byte(under_test, engine, key):
    gang, _ = run(engine, key, role("main", *(
        "head -c 40000 /dev/zero | tr '\\0' x; echo", "printf 'a\\rb\\rc\\r\\n'",
        "printf '\\377\\000\\200\\303'", "printf 'err\\n\\n' >&2",
        "seq 20000", "printf 'no line end'")))
    numbers = b"".join(b"%d\n" % number for number in range(1, 20001))
    assert log_of(under_test, gang, stream="stdout") == (
        b"x" * 40000 + b"\na\rb\rc\r\n\xff\x00\x80\xc3" + numbers + b"no line end")
    assert log_of(under_test, gang, stream="stderr") == b"err\n\n"


def test_a_new_engine_adopts_what_runs_and_no_byte_of_its_log_is_lost_or_doubled(
        under_test, engine, key):
    storage = Input(kind="storage", uri=key[0], target="shared")
    gang, heard = reserved(engine, key, job(role(
        "main", "seq 5000; touch shared/half; until [ -e shared/go ]; do sleep 0.05; done",
        "seq 5001 9000", storage=(storage,)))), Heard()
    engine.start(gang, gang.slots, heard)
    shared = next((under_test.folders.root.parent / "storage").glob(f"*/{key[0]}"))
    wait_for((shared / "half").exists, "half of the log is written", timeout_s=60)
    under_test.restart()
    assert under_test.engine.found() == {key}
    under_test.engine.hold(gang)
    (shared / "go").touch()
    again = Heard()
    under_test.engine.adopt(gang, gang.slots, again)
    assert again.exits(1) == {("main", 0): Exit(code=0)} and heard.told == []
    assert log_of(under_test, gang) == b"".join(b"%d\n" % number for number in range(1, 9001))
    assert len(containers(under_test, key)) == 1


def test_a_container_that_is_gone_is_told_as_ended_nobody_knows_how(under_test, engine, key):
    gang, heard = reserved(engine, key, job(role("main", "sleep 600"))), Heard()
    engine.start(gang, gang.slots, heard)
    containers(under_test, key)[0].remove(force=True)
    assert heard.exits(1) == {("main", 0): Exit(code=None)}
    later = Heard()
    under_test.restart()
    under_test.engine.adopt(gang, gang.slots, later)
    assert later.exits(1) == {("main", 0): Exit(code=None)}
    assert containers(under_test, key) == []


def test_all_slots_are_asked_to_end_at_once_and_each_has_the_whole_grace(under_test, engine, key):
    """Each slot ends by itself as soon as all were asked; one by one, none ever would."""
    storage = Input(kind="storage", uri=key[0], target="shared")
    gang, heard = reserved(engine, key, job(role(
        "main", "trap 'touch shared/$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX' TERM",
        "touch shared/up$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX",
        "until [ -e shared/0 -a -e shared/1 -a -e shared/2 ]; do sleep 0.05; done",
        instances=3, storage=(storage,)))), Heard()
    engine.start(gang, gang.slots, heard)
    shared = next((under_test.folders.root.parent / "storage").glob(f"*/{key[0]}"))
    wait_for(lambda: len(list(shared.glob("up*"))) == 3, "the tasks listen", timeout_s=60)
    engine.stop(gang, GRACE_S)
    engine.stop(gang, GRACE_S)
    assert heard.exits(3) == dict.fromkeys(gang.slots, Exit(code=0))


def test_who_does_not_end_when_asked_is_ended_by_force_and_it_is_no_interruption(engine, key):
    gang, heard = reserved(engine, key, job(role(
        "main", "trap '' TERM; touch /tmp/up", "while :; do sleep 1; done"))), Heard()
    engine.start(gang, gang.slots, heard)
    engine.stop(gang, 1)
    how = heard.exits(1)["main", 0]
    assert how.code in (137, 143) and not how.interruption


def test_an_end_from_outside_is_told_from_one_of_its_own(under_test, engine, key):
    gang, heard = reserved(engine, key, job(role("main", "sleep 600"))), Heard()
    engine.start(gang, gang.slots, heard)
    containers(under_test, key)[0].kill()
    assert heard.exits(1) == {("main", 0): Exit(code=137, interruption=STOPPED_OUTSIDE)}
    own = run(engine, (key[0], 2), role("main", "kill -9 $$"))[1]
    assert own.told == [(("main", 0), Exit(code=137))]


def test_an_end_for_lack_of_memory_is_told_from_others(engine, key):
    _, heard = run(engine, key, role("main", "tail /dev/zero"))
    how = heard.told[0][1]
    assert how.oom_killed and not how.interruption


def test_a_process_that_was_killed_for_its_memory_is_told_also_where_the_task_went_on(engine, key):
    _, heard = run(engine, key, role("main", "tail /dev/zero || true"))
    assert heard.told == [(("main", 0), Exit(code=0, oom_killed=True))]


def test_slots_of_a_gang_share_the_machines_network_and_a_single_one_has_its_own(
        under_test, engine, key):
    networks = []
    for instances in (1, 2):
        gang = reserved(engine, (key[0], instances), job(role(instances=instances)))
        heard = Heard()
        engine.start(gang, gang.slots, heard)
        heard.exits(instances)
        networks.append({name for each in containers(under_test, key)
                         for name in each.attrs["NetworkSettings"]["Networks"]})
        engine.clear(gang)
        engine.release(gang.key)
    assert networks == [{"bridge"}, {"host"}]


@pytest.fixture
def without_user(under_test):
    """An image whose container can be created and not started."""
    made = under_test.docker.containers.create(IMAGE, ["true"])
    name = "localhost/paishare/without-user:test"
    made.commit(*name.split(":"), changes="USER nobody-there")
    made.remove()
    yield name
    under_test.docker.images.remove(name)


def test_where_one_of_several_cannot_start_the_others_run_until_they_are_stopped(
        under_test, engine, key, without_user):
    gang, heard = reserved(engine, key, job(
        role("good", "sleep 600"), role("bad", image=without_user))), Heard()
    with pytest.raises(EngineError, match="nobody-there") as error:
        engine.start(gang, gang.slots, heard)
    assert not error.value.is_platform
    assert engine.look(gang) == {("good", 0): RUNNING, ("bad", 0): CREATED}
    engine.stop(gang, 1)
    assert not heard.exits(1)["good", 0].interruption
    engine.clear(gang)
    engine.release(key)
    assert containers(under_test, key) == [] and engine.promised() == set()


def test_a_slot_without_its_image_starts_no_container_and_the_error_says_so(
        under_test, engine, key):
    good, bad = role("good"), role("bad")
    missing = type(bad.image)(uri="localhost/paishare/none:1", digest="sha256:" + "0" * 64)
    gang = reserved(engine, key, job(good, type(bad)(**{**vars(bad), "image": missing})))
    heard = Heard()
    with pytest.raises(EngineError, match="localhost/paishare/none:1 was here but is gone"):
        engine.start(gang, gang.slots, heard)
    assert heard.containers == {}
    engine.clear(gang)
    assert containers(under_test, key) == []


def test_clear_leaves_logs_and_outputs_and_nothing_else(under_test, engine, key):
    gang, _ = run(engine, key, role("main", "echo hello", "echo kept > /paishare/output/file"))
    assert engine.found() == {key}
    engine.clear(gang)
    engine.clear(gang)
    assert containers(under_test, key) == [] and engine.found() == set()
    assert log_of(under_test, gang) == b"hello\n"
    assert (under_test.folders.output(*key, "main", 0) / "file").read_text() == "kept\n"


def test_fence_removes_a_gang_that_runs_and_no_other(under_test, engine, key):
    other = secrets.token_hex(6), 1
    for each in (key, other):
        gang = reserved(engine, each, job(role("main", "sleep 600")))
        engine.start(gang, gang.slots, Heard())
    assert engine.found() == {key, other}
    engine.fence(key)
    assert engine.found() == {other} and containers(under_test, key) == []
    assert engine.look(gang) == {("main", 0): RUNNING}


def test_a_container_of_others_is_not_touched_even_where_it_has_the_name_of_a_slot(
        under_test, engine, key):
    gang = reserved(engine, key, job(role("main", "true")))
    foreign = under_test.docker.containers.run(
        IMAGE, ["sleep", "600"], detach=True, name=container_name(gang, ("main", 0)),
        labels={LABEL: "another", LABEL_JOB: key[0]})
    try:
        for use in (lambda: engine.start(gang, gang.slots, Heard()), lambda: engine.look(gang),
                    lambda: engine.clear(gang)):
            with pytest.raises(EngineError, match="is not this runner's"):
                use()
        assert key not in engine.found()
        engine.fence(key)
        foreign.reload()
        assert foreign.status == "running"
    finally:
        foreign.remove(force=True)


# -- consoles -------------------------------------------------------------------------------------


@pytest.fixture
def asleep(under_test, engine, key):
    """A gang of one slot that does nothing until it is told to end."""
    gang, heard = reserved(engine, key, job(role("main", "sleep 3600"))), Heard()
    engine.start(gang, gang.slots, heard)
    return gang


def read_until(console, wanted):
    seen = b""
    while wanted not in seen:
        more = console.read(GRACE_S)
        assert more, seen
        seen += more


def processes(under_test, key):
    """The command lines that run in the container of a gang."""
    container, = containers(under_test, key)
    found = container.top()
    return [row[found["Titles"].index("CMD")] for row in found["Processes"]]


def test_a_console_is_a_shell_on_a_terminal_of_the_size_that_is_asked_for(
        under_test, engine, key, asleep):
    console = engine.open_console(asleep, ("main", 0), 99, 33)
    console.write("stty size; echo 你好 | wc -c; echo $LANG\n".encode(), GRACE_S)
    read_until(console, b"33 99\r\n7\r\nC.UTF-8\r\n")
    console.resize(120, 40)
    console.write(b"stty size\n", GRACE_S)
    read_until(console, b"\n40 120\r\n")
    console.write(b"sleep 1234\n", GRACE_S)
    wait_for(lambda: "sleep 1234" in processes(under_test, key), "it runs")
    console.write(b"\x03echo after $?\n", GRACE_S)
    read_until(console, b"\nafter 130\r\n")
    console.write(b"exit\n", GRACE_S)
    while not console.is_ended:
        console.read(GRACE_S)
    console.close()


def test_of_a_console_that_is_closed_nothing_is_left_but_what_was_meant_to_stay(
        under_test, engine, key, asleep):
    console = engine.open_console(asleep, ("main", 0), 80, 24)
    console.write(b"sleep 1111 &\n(trap '' HUP; sleep 2222) &\n"
                  b"setsid sleep 3333 &\nsleep 4444\n", 9)
    wait_for(lambda: "sleep 4444" in processes(under_test, key), "the last one runs")
    other = engine.open_console(asleep, ("main", 0), 80, 24)
    console.close()
    console.close()
    assert sorted(processes(under_test, key))[-3:] == ["sh -i", "sleep 3333", "sleep 3600"]
    other.close()
    assert "sh -i" not in processes(under_test, key)


def test_consoles_that_an_engine_left_behind_end_when_another_one_adopts_their_slots(
        under_test, engine, key, asleep):
    engine.open_console(asleep, ("main", 0), 80, 24)
    assert "sh -i" in processes(under_test, key)
    under_test.restart()
    under_test.engine.adopt(asleep, asleep.slots, Heard())
    assert "sh -i" not in processes(under_test, key)


def test_a_console_needs_a_running_slot_and_a_shell(under_test, engine, key):
    gang, heard = reserved(engine, key, job(role("main", "rm /bin/sh; sleep 3600"))), Heard()
    engine.start(gang, gang.slots, heard)
    wait_for(lambda: "sleep 3600" in processes(under_test, key), "the shell is gone")
    with pytest.raises(NoShellError, match="There is no shell in this image"):
        engine.open_console(gang, ("main", 0), 80, 24)
    engine.clear(gang)
    with pytest.raises(EngineError, match="does not run"):
        engine.open_console(gang, ("main", 0), 80, 24)
