# SPDX-License-Identifier: Apache-2.0
# A platform of its own for one file of stories: control plane, runner and
# agent as separate processes that a story may kill, a tenant with a user,
# simulated cards.
#
#   alice ...            the bulkhead command as research's user
#   admin ...            the same as the platform's administrator
#   kill_now NAME        kill -9 of daemon, runner or agent
#   start NAME           and its start
#   state_of WORKLOAD    one word

. "$(dirname "${BASH_SOURCE[0]}")/../words.bash"
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
bin=${BULKHEAD_BIN:-$repo/build/${BUILD:-debug}}

start() {
    case $1 in
    daemon)
        "$HOME_DIR/bulkheadd" --data "$HOME_DIR/control" \
            --socket "$HOME_DIR/run/api.sock" \
            --stream-socket "$HOME_DIR/run/stream.sock" \
            </dev/null >>"$HOME_DIR/daemon.log" 2>&1 3>&- &
        ;;
    runner)
        "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json" \
            </dev/null >>"$HOME_DIR/runner.log" 2>&1 3>&- &
        ;;
    agent)
        setpriv --reuid $AGENT_UID --regid $AGENT_UID --clear-groups \
            --no-new-privs --inh-caps=-all -- \
            "$HOME_DIR/bulkhead-agent" --control "$HOME_DIR/run/api.sock" \
            --state "$HOME_DIR/agent" --runner "$HOME_DIR/run/runner.sock" \
            --node sim-node-1 --join-token-file "$HOME_DIR/token" \
            --inventory-ms 500 \
            </dev/null >>"$HOME_DIR/agent.log" 2>&1 3>&- &
        ;;
    esac
    echo $! >"$HOME_DIR/$1.pid"
    disown
}

# A process that only its parent has not looked after yet does not live; while
# one of its threads does, it still has its files and their locks.
lives() {
    kill -0 "$1" 2>/dev/null &&
        cat "/proc/$1/task/"*/status 2>/dev/null | grep -q '^State:.[^ZX]'
}

is_over() { ! lives "$1"; }

# Waits until nothing of the process is left.
end() {
    local pid
    pid=$(cat "$HOME_DIR/$2.pid" 2>/dev/null) || return 0
    kill "-$1" "$pid" 2>/dev/null || return 0
    while lives "$pid"; do sleep 0.02; done
}

kill_now() { end KILL "$1"; }
stop_now() { end TERM "$1"; }

as() {
    local who=$1
    shift
    BULKHEAD_CONTEXT=$HOME_DIR/$who.json \
        BULKHEAD_SOCKET=$HOME_DIR/run/api.sock "$bin/bulkhead" "$@"
}
admin() { as admin "$@"; }
alice() { as alice "$@"; }

is_ready() {
    curl -sf --unix-socket "$HOME_DIR/run/api.sock" http://localhost/readyz
}
is_listening() { [ -S "$HOME_DIR/run/runner.sock" ]; }
workload() { alice get workload "$1" -o json | jq -r ".$2"; }
state_of() { workload "$1" state; }
says() { workload "$1" reason_text | grep -q "$2"; }
is_state() { [ "$(state_of "$1")" = "$2" ]; }
card() { admin get cards -o json | jq -r ".items[] | select(.name == \"$1\") | .$2"; }
is_card() { [ "$(card "$1" "$2")" = "$3" ]; }
clean_cards() {
    [ "$(admin get cards -o json | jq '[.items[] | select(.handover == "clean" and .health == "healthy")] | length')" = 8 ]
}
# api METHOD PATH [BODY]: as the administrator, for what no command says.
api() {
    local token
    token=$(jq -r .token "$HOME_DIR/admin.json")
    curl -sf --unix-socket "$HOME_DIR/run/api.sock" -X "$1" \
        -H "Authorization: Bearer $token" -H 'If-Match: *' \
        -H "Content-Type: $([ "$1" = PATCH ] && echo application/merge-patch+json || echo application/json)" \
        ${3:+-d "$3"} "http://localhost/api/v1$2"
}
node_id() { admin get nodes -o json | jq -r '.items[0].id'; }
# alarm_stands CODE [CARD]: about the node or one of its cards.
alarm_stands() {
    local path
    path=/nodes/$(node_id)
    [ $# -lt 2 ] || path=$path/cards/$2
    api GET "$path/alarms" |
        jq -e ".items[] | select(.code == \"$1\" and .cleared_ms == null)"
}
alarm_is_over() { ! alarm_stands "$@"; }

# submit NAME SHELL-COMMAND [OPTION...]: on one card.
submit() {
    local name=$1 command=$2
    shift 2
    alice submit "$name" -i demo -c h100-80g.1 --cpu 0.2 -m 64 -q "$@" -- \
        /bin/sh -c "$command"
}

# The process of the only container, as the machine sees it.
container_pid() {
    setpriv --reuid $AGENT_UID --clear-groups "$HOME_DIR/bulkhead-runner" \
        --socket "$HOME_DIR/run/runner.sock" \
        --request '{"protocol":1,"op":"list"}' |
        jq -r '[.instances[] | select(.state == "running")][0].pid'
}

make_files() {
    HOME_DIR=$(mktemp -d /tmp/bulkhead-agent.XXXXXX)
    AGENT_UID=64322
    export HOME_DIR AGENT_UID
    chmod 755 "$HOME_DIR"
    mkdir -p "$HOME_DIR"/{images,run,root/bin}
    cp "$repo/data/estates/demo.json" "$HOME_DIR/estate.json"
    cp "$bin/bulkheadd" "$bin/bulkhead-runner" "$bin/bulkhead-agent" \
        "$HOME_DIR/"
    install -d -m 700 -o $AGENT_UID -g $AGENT_UID "$HOME_DIR/agent"
    cp /bin/busybox "$HOME_DIR/root/bin/busybox"
    for applet in sh cat ls sleep echo mv true false head seq; do
        ln -s busybox "$HOME_DIR/root/bin/$applet"
    done
    "$repo/tools/make-image" "$HOME_DIR/images/demo" "$HOME_DIR/root" -- \
        /bin/sh >/dev/null
    cat >"$HOME_DIR/policy.json" <<END
{"version": 1, "prefix": "$1", "agent_uid": $AGENT_UID,
 "socket": "$HOME_DIR/run/runner.sock", "state_dir": "$HOME_DIR/state",
 "image_dir": "$HOME_DIR/images", "volume_dir": "$HOME_DIR/volumes",
 "accel": "sim", "estate": "$HOME_DIR/estate.json"}
END
}

make_people() {
    local id
    (umask 077 && head -c 18 /dev/urandom | base64 >"$HOME_DIR/password")
    admin first-admin admin --secret-file "$HOME_DIR/control/first-admin" \
        --password-file "$HOME_DIR/password" -q
    admin create jointoken sim-node-1 --pool default -q >"$HOME_DIR/token"
    chown $AGENT_UID "$HOME_DIR/token"
    admin create tenant research -q
    admin create project language -t research class=research -q
    admin create user alice -t research -q
    admin passwd alice -t research --lasting --password-file "$HOME_DIR/password" -q
    id=$(admin get user alice -t research -o json | jq -r .id)
    admin create grant -t research --level tenant "subject=$id" \
        role=tenant-admin -q
    admin create grant -t research -p language --level project \
        "subject=$id" role=developer -q
    alice login alice -t research -p language \
        --password-file "$HOME_DIR/password" -q
}

# make_platform PREFIX: everything runs and all cards are clean.
make_platform() {
    make_files "$1"
    start daemon
    start runner
    soon is_ready
    soon is_listening
    make_people >/dev/null
    start agent
    soon clean_cards
    # A guarantee needs healthy cards.
    admin set quota cards -t research --level tenant -g 4 -l 4 -q
}

remove_platform() {
    [ -n "${HOME_DIR:-}" ] || return 0
    stop_now agent
    stop_now daemon
    stop_now runner
    "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json" --clean \
        --volumes >/dev/null || true
    rm -rf "$HOME_DIR"
}

# What each story leaves must be right.
check_platform() {
    admin check
}

# On failure the logs say more than the story.
show_logs() {
    [ "${BATS_TEST_COMPLETED:-}" = 1 ] && return 0
    tail -n 15 "$HOME_DIR"/{daemon,runner,agent}.log
    alice get workloads || true
}
