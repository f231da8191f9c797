#!/usr/bin/env bash
# Brings what PAIShare needs onto this machine and says what it does. Each word may be called alone:
#   venv         the Python environment .venv
#   engine       a Docker engine that answers
#   image-tools  what builds the bundled image from Debian's packages, the tests' image and registry
#   browser      Chromium for the browser tests
#   fonts        letters for Chinese pages, in pictures of them
#   postgres     PostgreSQL's programs, without a server that runs: the tests start their own
#   engine-stop  end the engine that `engine` started in the background
# A second call changes nothing and needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."

ENGINE_LOG=/var/log/paishare-dockerd.log
ENGINE_PID=/run/paishare-dockerd.pid
PYTHON_NAMES="python3 python3.13 python3.12 python3.11"

say() { printf '[set-up] %s\n' "$*"; }

stop_with() {
    printf '[set-up] %s\n' "$*" >&2
    exit 1
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; }

# install WHY PACKAGE…: by apt where we may, else one line that names the packages.
install() {
    local why=$1
    shift
    can_install || stop_with "$why is missing. Install it first, on Debian or Ubuntu as root: apt-get install $*"
    say "$why is missing: installing $* with apt-get"
    if ! apt-get -q install -y --no-install-recommends -o Acquire::Retries=3 "$@" \
        < /dev/null > /tmp/paishare-apt.log 2>&1; then
        { apt-get -q update -o Acquire::Retries=3 &&
            apt-get -q install -y --no-install-recommends -o Acquire::Retries=3 "$@"; } \
            < /dev/null > /tmp/paishare-apt.log 2>&1 ||
            stop_with "apt-get could not install $*: $(grep -a '^E:' /tmp/paishare-apt.log | tail -n 1) (whole log: /tmp/paishare-apt.log)"
    fi
}

# The first Python of at least 3.11 that can make virtual environments.
find_python() {
    local name
    for name in $PYTHON_NAMES; do
        if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
            > /dev/null 2>&1; then
            command -v "$name"
            return
        fi
    done
    return 1
}

set_up_venv() {
    local python stamp wanted
    command -v git > /dev/null || install "git" git
    stamp=.venv/.stamp
    wanted="$(cat setup.cfg pyproject.toml | sha256sum) $PWD"
    if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2> /dev/null)" = "$wanted" ]; then
        return
    fi
    find_python > /dev/null || install "Python 3.11 with venv" python3 python3-venv
    python=$(find_python) || stop_with "Python 3.11 or newer with venv is needed; found $(python3 --version 2>&1)."
    say "Installing the Python packages of setup.cfg into .venv"
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install -qq --retries 5 --timeout 60 --editable '.[test]' ||
        stop_with "pip could not install the packages. Look at its lines above, check the network, and try again."
    printf '%s\n' "$wanted" > "$stamp"
    say "The Python environment is ready: .venv"
}

engine_answers() {
    .venv/bin/python -c 'import docker; docker.from_env(timeout=5).ping()' > /dev/null 2>&1
}

# A number left by a dead daemon may belong to another process by now; dockerd would not start.
drop_stale_pid() {
    local file=$1 name=$2 pid
    pid=$(cat "$file" 2> /dev/null) || return 0
    if [ "$(cat "/proc/$pid/comm" 2> /dev/null)" != "$name" ]; then
        rm -f "$file"
    fi
}

start_engine() {
    if [ -d /run/systemd/system ] && systemctl start docker > /dev/null 2>&1; then
        return
    fi
    drop_stale_pid /var/run/docker.pid dockerd
    drop_stale_pid /var/run/docker/containerd/containerd.pid containerd
    setsid dockerd < /dev/null > "$ENGINE_LOG" 2>&1 &
    printf '%s\n' "$!" > "$ENGINE_PID"
}

wait_for_engine() {
    local tries
    for tries in $(seq 60); do
        engine_answers && return
        [ "$tries" = 60 ] || sleep 0.5
    done
    stop_with "The Docker engine does not answer. Its last words: $(tail -n 1 "$ENGINE_LOG" 2> /dev/null || echo none) (log: $ENGINE_LOG)"
}

set_up_engine() {
    local packages="docker.io iptables" socket=/var/run/docker.sock
    engine_answers && return
    [ -z "${DOCKER_HOST:-}" ] ||
        stop_with "No Docker engine answers at DOCKER_HOST=$DOCKER_HOST. Start that one, or unset DOCKER_HOST."
    if [ -S "$socket" ] && [ ! -w "$socket" ]; then
        stop_with "$(id -un) may not use the Docker engine of this machine. As root: usermod -aG docker $(id -un). Then log in again."
    fi
    if ! command -v dockerd > /dev/null; then
        # Without apparmor_parser an engine on an AppArmor kernel can start no container.
        if [ "$(cat /sys/module/apparmor/parameters/enabled 2> /dev/null)" = Y ]; then
            packages="$packages apparmor"
        fi
        # shellcheck disable=SC2086
        install "A Docker engine" $packages
    fi
    engine_answers && return
    [ "$(id -u)" = 0 ] || stop_with "No Docker engine answers. Start it, as root: systemctl start docker"
    say "No Docker engine answers: starting one"
    start_engine
    wait_for_engine
    say "The Docker engine answers"
}

stop_engine() {
    local pid
    pid=$(cat "$ENGINE_PID" 2> /dev/null) || return 0
    rm -f "$ENGINE_PID"
    if [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = dockerd ]; then
        say "Stopping the Docker engine that this set-up started"
        kill "$pid"
        for _ in $(seq 60); do
            [ -d "/proc/$pid" ] || return 0
            sleep 0.25
        done
    fi
}

set_up_image_tools() {
    command -v debootstrap > /dev/null || install "debootstrap" debootstrap
    # The tests make an image of nothing but busybox, so it must need no library.
    if ! command -v busybox > /dev/null || ldd "$(command -v busybox)" > /dev/null 2>&1; then
        install "A static busybox" busybox-static
    fi
    # With it the tests set a clock, the runner's alone.
    compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' > /dev/null ||
        install "libfaketime" libfaketime
    # The tests pull from one of their own; Debian's package would start another at each boot.
    if ! command -v docker-registry > /dev/null; then
        install "A registry of images, for the tests," docker-registry
        if [ -d /run/systemd/system ]; then
            systemctl disable --now docker-registry > /dev/null 2>&1 || true
        fi
    fi
}

# The names are those of tests/browser/conftest.py. A snap sees no temporary folder, where each
# browser that Playwright drives keeps its profile.
has_browser() {
    local name path
    for name in chromium-headless-shell chromium google-chrome; do
        path=$(command -v "$name") || continue
        [ "$(basename "$(readlink -f "$path")")" = snap ] || return 0
    done
    compgen -G ~/".cache/ms-playwright/chromium*" > /dev/null
}

set_up_browser() {
    # Playwright's driver is a Node that needs this library, and a small Debian lacks it.
    .venv/bin/python -m playwright --version > /dev/null 2>&1 ||
        install "The library libatomic, which Playwright needs," libatomic1
    has_browser && return
    if ! grep -q '^ID=ubuntu' /etc/os-release; then
        install "Chromium" chromium
        return
    fi
    say "Chromium is missing, and Ubuntu has it as a snap only, which tests cannot drive: downloading Playwright's"
    .venv/bin/python -m playwright install --with-deps chromium \
        < /dev/null > /tmp/paishare-chromium.log 2>&1 ||
        stop_with "Playwright could not download Chromium: $(tail -n 1 /tmp/paishare-chromium.log) Install Google Chrome instead, or try as root: .venv/bin/python -m playwright install --with-deps chromium (whole log: /tmp/paishare-chromium.log)"
}

set_up_fonts() {
    fc-list :lang=zh 2> /dev/null | grep -q . || install "A font with Chinese letters" fontconfig fonts-noto-cjk
}

has_postgres() {
    compgen -G '/usr/lib/postgresql/*/bin/initdb' > /dev/null || command -v initdb > /dev/null
}

# Debian's package would make a cluster and start it, unless its common part is told not to.
set_up_postgres() {
    local file=/etc/postgresql-common/createcluster.conf
    has_postgres && return
    if can_install; then
        install "PostgreSQL, without a server that runs," postgresql-common
        sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' "$file"
    fi
    install "PostgreSQL" postgresql
}

export DEBIAN_FRONTEND=noninteractive PATH="$PATH:/usr/sbin:/sbin"  # a user's own has no sbin
[ $# -gt 0 ] || set -- venv engine
for word in "$@"; do
    case $word in
        venv) set_up_venv ;;
        engine) set_up_venv; set_up_engine ;;
        engine-stop) stop_engine ;;
        image-tools) set_up_image_tools ;;
        browser) set_up_venv; set_up_browser ;;
        fonts) set_up_fonts ;;
        postgres) set_up_postgres ;;
        *) stop_with "tools/setup.sh knows venv, engine, engine-stop, image-tools, browser, fonts and postgres, not $word." ;;
    esac
done
