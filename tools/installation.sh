# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# An installation of Bulkhead on this machine under ./up's own supervision.
# Sourced by up and by the stories; uses $data, $run, $port, $prefix, $estate,
# and for real cards accel=vendor, perhaps with $libraries.

# BUILD names the build whose programs are used.
: "${BUILD:=release}"

installation_build() {
    local make=(make -s -j"$(nproc)" "BUILD=$BUILD" all)

    # Nothing is built as root that can be built by whoever called sudo.
    if [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
        sudo -u "$SUDO_USER" "${make[@]}"
    else
        "${make[@]}"
    fi
}

# installation_check_estate FILE [job]: prints what is wrong with an estate.
# The main job needs four cards of each of its two models.
installation_check_estate() {
    local model

    jq -e . "$1" >/dev/null 2>&1 || { echo "it is not JSON: $(jq . "$1" 2>&1 >/dev/null | head -n 1)"; return 1; }
    jq -e '(.node | type == "string") and (.cards | type == "array" and length > 0)' "$1" >/dev/null 2>&1 ||
        { echo "it needs \"node\", a name, and \"cards\", a list; data/estates/demo.json shows how"; return 1; }
    jq -e 'all(.cards[]; (.uuid | type == "string") and (.model | type == "string") and (.memory_mib | type == "number"))' "$1" >/dev/null 2>&1 ||
        { echo "each card needs \"uuid\", \"model\" and \"memory_mib\"; data/estates/demo.json shows how"; return 1; }
    [ -n "${2:-}" ] || return 0
    for model in H100-80GB A100-40GB; do
        jq -e --arg m "$model" '[.cards[] | select(.model == $m)] | length >= 4' "$1" >/dev/null ||
            { echo "the main job needs 4 cards of model $model; ./up --start --sim $1 starts without it"; return 1; }
    done
}

# Sets $found to what the vendors' libraries know of this machine, "2 x MODEL,
# 1 x MODEL"; fails without any.
installation_find_cards() {
    found=$("build/$BUILD/bulkhead-cards" ${libraries:+--libraries "$libraries"} --output json 2>/dev/null |
        jq -r 'group_by(.model) | map("\(length) x \(.[0].model)") | join(", ")' 2>/dev/null)
    [ -n "$found" ]
}

# The name under which the machine is a node.  It stays what it was enrolled
# under.
installation_node() {
    local name

    [ "${accel:-sim}" = vendor ] || { jq -r .node "$data/estate.json"; return; }
    if [ ! -s "$data/node" ]; then
        name=$(uname -n | cut -d. -f1 | tr A-Z a-z | tr -cd 'a-z0-9-' | sed 's/^[^a-z]*//')
        [ ! -e "$data/agent/enrolled" ] || name=$(jq -r .node "$data/estate.json")
        echo "${name:-node}" >"$data/node"
    fi
    cat "$data/node"
}

# Which cards the runner is to have, for its policy.
installation_accel() {
    if [ "${accel:-sim}" = vendor ]; then
        jq -nc --arg l "${libraries:-}" '{accel: "vendor"} + if $l == "" then {} else {libraries: $l} end'
    else
        jq -nc --arg e "$data/estate.json" '{accel: "sim", estate: $e}'
    fi
}

# What this installation would collide with, before anything is changed.
installation_check_place() {
    installation_running bulkheadd && return 0
    installation_systemd && systemctl -q is-active bulkheadd && return 0
    installation_orphans bulkheadd || return 1
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        echo "port $port of the loopback is in use; BULKHEAD_PORT=N ./up takes another"
        return 1
    fi
}

installation_user() {
    id -u "$1" >/dev/null 2>&1 ||
        useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$1"
}

# Directories with one owner each, programs, images, the runner's policy.
installation_prepare() {
    local program

    installation_user bulkhead && installation_user bulkhead-agent &&
        installation_user bulkhead-signer || return 1
    install -d -m 755 "$data" "$run" "$data/bin" "$data/images" || return 1
    install -d -m 700 "$data/people" "$data/volumes" "$data/log" || return 1
    install -d -m 711 "$data/runner" || return 1
    install -d -m 750 -o bulkhead -g bulkhead "$data/control" "$run/control" || return 1
    install -d -m 700 -o bulkhead-signer -g bulkhead-signer "$data/signer" || return 1
    install -d -m 755 -o bulkhead-signer -g bulkhead-signer "$run/signer" || return 1
    install -d -m 700 -o bulkhead-agent -g bulkhead-agent "$data/agent" || return 1
    chmod 755 "$run/control"
    for program in bulkhead bulkheadd bulkhead-signer bulkhead-agent bulkhead-runner bulkhead-cards; do
        cmp -s "build/$BUILD/$program" "$data/bin/$program" && continue
        installation_renewed="${installation_renewed:-} $program "
        install -m 755 "build/$BUILD/$program" "$data/bin/.$program" &&
            mv "$data/bin/.$program" "$data/bin/$program" || return 1
    done
    install -m 644 "$estate" "$data/estate.json" || return 1
    installation_images || return 1
    jq ". + $(installation_accel)" >"$data/policy.json" <<POLICY
{"version": 1, "prefix": "$prefix", "agent_uid": $(id -u bulkhead-agent),
 "socket": "$run/runner.sock", "state_dir": "$data/runner",
 "image_dir": "$data/images", "volume_dir": "$data/volumes"}
POLICY
}

# The images of the demonstration: a shell, the trainer with its texts, the
# probe that tries to reach what is not its own.
installation_images() {
    local root

    [ "$data/images/demo/index.json" -nt "build/$BUILD/examples/bigram/bigram" ] && return 0
    root=$(mktemp -d) || return 1
    mkdir -p "$root/bin" "$root/tmp" "$root/data" "$root/run" "$root/usr/share" &&
        cp /bin/busybox "$root/bin/busybox" &&
        cp "build/$BUILD/examples/bigram/bigram" "build/$BUILD/examples/probe/probe" "$root/bin/" &&
        cp -rL /usr/share/common-licenses "$root/usr/share/" || return 1
    for applet in sh cat ls sleep echo sha256sum id mkdir true false head sync; do
        ln -s busybox "$root/bin/$applet"
    done
    rm -rf "$data/images/demo"
    tools/make-image "$data/images/demo" "$root" -- /bin/sh >/dev/null || return 1
    rm -rf "$root"
}

installation_running() {
    [ -e "$run/$1.pid" ] && installation_lives "$(cat "$run/$1.pid")"
}

# A process that nobody has waited for yet is gone all the same.
installation_lives() {
    local stat

    { stat=$(cat "/proc/$1/stat"); } 2>/dev/null || return 1
    case ${stat##*) } in Z*) return 1 ;; esac
}

# systemd runs the programs where it runs and the installation is to stay.
installation_systemd() {
    [ -d /run/systemd/system ] && [ -z "${once:-}" ] && [ "${BUILD}" = release ]
}

# A file of deploy/systemd with the paths of this installation.
installation_unit() {
    sed -e "s|@DATA@|$data|g; s|@RUN@|$run|g; s|@PORT@|$port|g" \
        -e "s|@NODE@|$(installation_node)|g" "deploy/systemd/$1"
}

installation_service() {
    local unit=bulkhead-$1.service

    [ "$1" != bulkheadd ] || unit=bulkheadd.service
    installation_unit bulkhead.tmpfiles >/etc/tmpfiles.d/bulkhead.conf &&
        installation_unit "$unit" >"/etc/systemd/system/$unit" &&
        systemctl daemon-reload && systemctl enable -q --now "$unit"
}

# Was the daemon's program replaced since it was started?  Then it has to be
# started again; containers stay.
installation_is_renewed() {
    case ${installation_renewed:-} in *" ${1#bulkhead-} "* | *" bulkhead-$1 "*) return 0 ;; esac
    return 1
}

# installation_daemon NAME USER COMMAND...: under supervision, once.
installation_daemon() {
    local name=$1 user=$2
    shift 2
    if installation_systemd; then
        installation_service "$name"
        return
    fi
    installation_said=$(stat -c %s "$data/log/$name.log" 2>/dev/null || echo 0)
    ! installation_is_renewed "$name" || installation_end "$name"
    installation_running "$name" && return 0
    installation_orphans "$name" || return 1
    if [ "$user" != root ]; then
        set -- setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --inh-caps=-all -- "$@"
    fi
    setsid -f tools/supervise "$run/$name.pid" "$data/log/$name.log" "$@" </dev/null >/dev/null 2>&1 9>&-
}

# installation_end NAME: ends a supervised daemon.  The supervisor takes its
# pid file away when both are gone.
installation_end() {
    local pid

    [ -e "$run/$1.pid" ] || { installation_orphans "$1"; return; }
    pid=$(cat "$run/$1.pid")
    kill -TERM "$pid" 2>/dev/null || rm -f "$run/$1.pid"
    for _ in $(seq 400); do
        installation_lives "$pid" || break
        sleep 0.05
    done
    ! installation_lives "$pid" || { echo "$1 (process $pid) does not end"; return 1; }
    rm -f "$run/$1.pid"
    installation_orphans "$1"
}

# installation_orphans NAME: ends a program whose supervisor was killed.
installation_orphans() {
    local program=$data/bin/bulkhead-$1 pid left=100

    [ "$1" != bulkheadd ] || program=$data/bin/bulkheadd
    while :; do
        pid=$(find /proc -maxdepth 2 -name exe \( -lname "$program" -o -lname "$program (deleted)" \) 2>/dev/null | cut -d/ -f3)
        [ -n "$pid" ] || return 0
        # shellcheck disable=SC2086
        [ $left -lt 100 ] || kill -TERM $pid 2>/dev/null
        left=$((left - 1))
        [ $left -gt 0 ] || { echo "$1 (process $pid) does not end"; return 1; }
        sleep 0.1
    done
}

# installation_came NAME WHAT SECONDS COMMAND...: waits for what a daemon
# started last brings; when it cannot start, its own words are the reason.
installation_came() {
    local name=$1 what=$2 left=$(($3 * 20)) why
    shift 3
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        why=$(tail -c "+$((${installation_said:-0} + 1))" "$data/log/$name.log" 2>/dev/null |
            sed -n 's/.*"text":"cannot start: \(.*\)"}$/\1/p' | head -n 1)
        if [ -n "$why" ] || [ $left -le 0 ]; then
            installation_why="$what did not come: ${why:-see $data/log/$name.log}"
            return 1
        fi
        sleep 0.05
    done
}

# installation_wait WHAT SECONDS COMMAND...
installation_wait() {
    local what=$1 left=$(($2 * 10))
    shift 2
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || { echo "$what did not come"; return 1; }
        sleep 0.1
    done
}

bulkhead_as() {
    local who=$1
    shift
    BULKHEAD_CONTEXT=$data/people/$who.json BULKHEAD_SOCKET=$run/control/api.sock "$data/bin/bulkhead" "$@"
}

installation_ready() {
    curl -sf --unix-socket "$run/control/api.sock" http://localhost/readyz
}

installation_start() {
    local node

    installation_daemon signer root "$data/bin/bulkhead-signer" --directory "$data/signer" \
        --socket "$run/signer/signer.sock" --user bulkhead-signer --peer bulkhead
    installation_came signer "the signer's socket" 10 test -S "$run/signer/signer.sock" || return 1
    installation_daemon bulkheadd bulkhead "$data/bin/bulkheadd" --data "$data/control" \
        --socket "$run/control/api.sock" --stream-socket "$run/control/stream.sock" \
        --listen "127.0.0.1:$port" --port-file "$run/control/port" \
        --signer-socket "$run/signer/signer.sock"
    installation_came bulkheadd "bulkheadd" 20 installation_ready || return 1
    installation_daemon runner root "$data/bin/bulkhead-runner" --policy "$data/policy.json"
    installation_came runner "the runner's socket" 20 test -S "$run/runner.sock" || return 1
    installation_admin || { installation_why="the administrator could not log in; the message is above"; return 1; }
    node=$(installation_node)
    if [ ! -e "$data/agent/enrolled" ]; then
        bulkhead_as admin create jointoken "$node" --pool default -q >"$data/agent/join-token" || return 1
        chmod 600 "$data/agent/join-token"
        chown bulkhead-agent: "$data/agent/join-token"
    fi
    installation_daemon agent bulkhead-agent "$data/bin/bulkhead-agent" \
        --control "$run/control/api.sock" --state "$data/agent" --runner "$run/runner.sock" \
        --node "$node" --join-token-file "$data/agent/join-token"
    installation_came agent "the node's cards" 20 installation_has_cards || return 1
    touch "$data/agent/enrolled"
}

installation_has_cards() {
    local wanted=healthy

    # Real ones may be anything.
    [ "${accel:-sim}" = sim ] || wanted=
    [ "$(bulkhead_as admin get cards -o json |
        jq --arg w "$wanted" '[.items[] | select($w == "" or .health == $w)] | length')" -gt 0 ]
}

# The first administrator, made with the one-time secret, and logged in.
installation_admin() {
    local password=$data/people/admin.password

    if [ ! -e "$password" ]; then
        (umask 077 && head -c 18 /dev/urandom | base64 >"$password.new")
        echo "the one-time secret for the first administrator, used now: $(cat "$data/control/first-admin")"
        bulkhead_as admin first-admin admin --secret-file "$data/control/first-admin" \
            --password-file "$password.new" || return 1
        mv "$password.new" "$password"
    else
        bulkhead_as admin login admin --operator --password-file "$password" -q || return 1
    fi
}

installation_stop() {
    local name failed=0

    if installation_systemd; then
        systemctl disable -q --now bulkhead-agent bulkhead-runner bulkheadd bulkhead-signer
    fi
    for name in agent runner bulkheadd signer; do
        installation_end "$name" || failed=1
    done
    [ ! -e "$data/policy.json" ] || "$data/bin/bulkhead-runner" --policy "$data/policy.json" --clean
    return $failed
}

installation_clean() {
    rm -rf "$data"
}
