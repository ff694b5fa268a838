# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# An installation of Bulkhead on this machine under ./up's own supervision.
# Sourced by up and by the stories; uses $data, $run, $port, $prefix, $estate.

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

installation_user() {
    id -u "$1" >/dev/null 2>&1 ||
        useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$1"
}

# Directories with one owner each, programs, images, the runner's policy.
installation_prepare() {
    local program

    installation_user bulkhead && installation_user bulkhead-agent &&
        installation_user bulkhead-signer || return 1
    install -d -m 755 "$data" "$run" "$data/bin" "$data/images" "$data/log" || return 1
    install -d -m 700 "$data/people" "$data/runner" "$data/volumes" || return 1
    install -d -m 750 -o bulkhead -g bulkhead "$data/control" "$run/control" || return 1
    install -d -m 700 -o bulkhead-signer -g bulkhead-signer "$data/signer" || return 1
    install -d -m 755 -o bulkhead-signer -g bulkhead-signer "$run/signer" || return 1
    install -d -m 700 -o bulkhead-agent -g bulkhead-agent "$data/agent" || return 1
    chmod 755 "$run/control"
    for program in bulkhead bulkheadd bulkhead-signer bulkhead-agent bulkhead-runner; do
        install -m 755 "build/$BUILD/$program" "$data/bin/.$program" &&
            mv "$data/bin/.$program" "$data/bin/$program" || return 1
    done
    install -m 644 "$estate" "$data/estate.json" || return 1
    installation_images || return 1
    cat >"$data/policy.json" <<POLICY
{"version": 1, "prefix": "$prefix", "agent_uid": $(id -u bulkhead-agent),
 "socket": "$run/runner.sock", "state_dir": "$data/runner",
 "image_dir": "$data/images", "volume_dir": "$data/volumes",
 "accel": "sim", "estate": "$data/estate.json"}
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
    [ -e "$run/$1.pid" ] && kill -0 "$(cat "$run/$1.pid")" 2>/dev/null
}

# systemd runs the programs where it runs and the installation is to stay.
installation_systemd() {
    [ -d /run/systemd/system ] && [ -z "${once:-}" ] && [ "${BUILD}" = release ]
}

# A file of deploy/systemd with the paths of this installation.
installation_unit() {
    sed -e "s|@DATA@|$data|g; s|@RUN@|$run|g; s|@PORT@|$port|g" \
        -e "s|@NODE@|$(jq -r .node "$data/estate.json")|g" "deploy/systemd/$1"
}

installation_service() {
    local unit=bulkhead-$1.service

    [ "$1" != bulkheadd ] || unit=bulkheadd.service
    installation_unit bulkhead.tmpfiles >/etc/tmpfiles.d/bulkhead.conf &&
        installation_unit "$unit" >"/etc/systemd/system/$unit" &&
        systemctl daemon-reload && systemctl enable -q --now "$unit"
}

# installation_daemon NAME USER COMMAND...: under supervision, once.
installation_daemon() {
    local name=$1 user=$2
    shift 2
    if installation_systemd; then
        installation_service "$name"
        return
    fi
    installation_running "$name" && return 0
    if [ "$user" != root ]; then
        set -- setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --inh-caps=-all -- "$@"
    fi
    setsid -f tools/supervise "$run/$name.pid" "$data/log/$name.log" "$@" </dev/null >/dev/null 2>&1
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
    installation_wait "the signer's socket" 10 test -S "$run/signer/signer.sock" || return 1
    installation_daemon bulkheadd bulkhead "$data/bin/bulkheadd" --data "$data/control" \
        --socket "$run/control/api.sock" --stream-socket "$run/control/stream.sock" \
        --listen "127.0.0.1:$port" --port-file "$run/control/port" \
        --signer-socket "$run/signer/signer.sock"
    installation_daemon runner root "$data/bin/bulkhead-runner" --policy "$data/policy.json"
    installation_wait "bulkheadd" 20 installation_ready || return 1
    installation_wait "the runner's socket" 20 test -S "$run/runner.sock" || return 1
    installation_admin || return 1
    node=$(jq -r .node "$data/estate.json")
    if [ ! -e "$data/agent/enrolled" ]; then
        bulkhead_as admin create jointoken "$node" --pool default -q >"$data/agent/join-token" || return 1
        chmod 600 "$data/agent/join-token"
        chown bulkhead-agent: "$data/agent/join-token"
    fi
    installation_daemon agent bulkhead-agent "$data/bin/bulkhead-agent" \
        --control "$run/control/api.sock" --state "$data/agent" --runner "$run/runner.sock" \
        --node "$node" --join-token-file "$data/agent/join-token"
    installation_wait "the node's cards" 20 installation_has_cards || return 1
    touch "$data/agent/enrolled"
}

installation_has_cards() {
    [ "$(bulkhead_as admin get cards -o json | jq '[.items[] | select(.health == "healthy")] | length')" -gt 0 ]
}

# The first administrator, made with the one-time secret, and logged in.
installation_admin() {
    local password=$data/people/admin.password

    if [ ! -e "$password" ]; then
        (umask 077 && head -c 18 /dev/urandom | base64 >"$password")
        echo "the one-time secret for the first administrator is in $data/control/first-admin"
        bulkhead_as admin first-admin admin --secret-file "$data/control/first-admin" \
            --password-file "$password" || return 1
    else
        bulkhead_as admin login admin --operator --password-file "$password" -q || return 1
    fi
}

installation_stop() {
    local name pid

    if installation_systemd; then
        systemctl disable -q --now bulkhead-agent bulkhead-runner bulkheadd bulkhead-signer
    fi
    for name in agent runner bulkheadd signer; do
        [ -e "$run/$name.pid" ] || continue
        pid=$(cat "$run/$name.pid")
        kill -TERM "$pid" 2>/dev/null
        for _ in $(seq 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        rm -f "$run/$name.pid"
    done
    [ ! -e "$data/policy.json" ] || "$data/bin/bulkhead-runner" --policy "$data/policy.json" --clean
}

installation_clean() {
    rm -rf "$data"
}
