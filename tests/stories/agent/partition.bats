#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An agent in a network of its own, behind TLS, and what the network does to
# it: nothing of a node that is only silent is used twice, in whatever order it
# is lost, given up and heard again.

load common

NET=bhl-far HERE=10.213.77.1 THERE=10.213.77.2 PORT=7443

setup_file() {
    export WITHIN=${WITHIN:-60}
    export NODE=sim-node-1
    [ "$(id -u)" = 0 ] || skip "needs root"
    command -v nginx >/dev/null || skip "nginx is not installed"
    command -v openssl >/dev/null || skip "openssl is not installed"
    make_net || skip "no network namespaces here"
    make_files bhl
    make_proxy
    start daemon
    start runner
    soon is_ready
    soon is_listening
    make_people >/dev/null
    admin stepup --password-file "$HOME_DIR/password" -q
    admin set platform lease_ms=3000 -q
    far
    soon clean_cards
    admin set quota cards -t research --level tenant -g 4 -l 4 -q
}

teardown_file() {
    [ -n "${HOME_DIR:-}" ] || return 0
    heal
    kill "$(cat "$HOME_DIR/nginx.pid" 2>/dev/null)" 2>/dev/null || true
    remove_platform
    ip netns delete $NET 2>/dev/null || true
    ip link delete bhl-here 2>/dev/null || true
    rm -rf "$HOME_DIR"
}

teardown() {
    heal
    show_logs
}

make_net() {
    ip netns add $NET && ip link add bhl-here type veth peer name bhl-there netns $NET &&
        ip addr add $HERE/30 dev bhl-here && ip link set bhl-here up &&
        ip -n $NET addr add $THERE/30 dev bhl-there && ip -n $NET link set bhl-there up &&
        ip -n $NET link set lo up
}

# A proxy with a certificate of its own in front of the control plane.
make_proxy() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -subj /CN=control -addext "subjectAltName=IP:$HERE" \
        -keyout "$HOME_DIR/tls.key" -out "$HOME_DIR/tls.crt" 2>/dev/null
    chmod 644 "$HOME_DIR/tls.crt"
    cat >"$HOME_DIR/nginx.conf" <<END
pid $HOME_DIR/nginx.pid;
error_log $HOME_DIR/nginx.log;
user root;
worker_processes 1;
events {}
http {
    access_log off;
    client_body_temp_path $HOME_DIR/nginx-body;
    proxy_temp_path $HOME_DIR/nginx-proxy;
    fastcgi_temp_path $HOME_DIR/nginx-1;
    uwsgi_temp_path $HOME_DIR/nginx-2;
    scgi_temp_path $HOME_DIR/nginx-3;
    server {
        listen $HERE:$PORT ssl;
        ssl_certificate $HOME_DIR/tls.crt;
        ssl_certificate_key $HOME_DIR/tls.key;
        client_max_body_size 8m;
        location / {
            proxy_pass http://unix:$HOME_DIR/run/api.sock;
            proxy_read_timeout 60s;
        }
    }
}
END
    nginx -c "$HOME_DIR/nginx.conf"
}

# far [COMMAND...]: the agent in its network, started by COMMAND.
far() {
    ip netns exec $NET setpriv --reuid $AGENT_UID --regid $AGENT_UID \
        --clear-groups --no-new-privs --inh-caps=-all -- "$@" \
        "$HOME_DIR/bulkhead-agent" --control "https://$HERE:$PORT" \
        --ca "$HOME_DIR/tls.crt" --state "$HOME_DIR/agent" \
        --runner "$HOME_DIR/run/runner.sock" --node $NODE \
        --join-token-file "$HOME_DIR/token" --inventory-ms 500 \
        </dev/null >>"$HOME_DIR/agent.log" 2>&1 3>&- &
    echo $! >"$HOME_DIR/agent.pid"
    disown
}

# sever all|to|from: packets of both ways, of the agent's alone, of the
# answers alone are lost.
sever() {
    ip netns exec $NET nft -f - <<END
table inet sever {
    chain out { type filter hook output priority 0; $([ "$1" = from ] || echo "ip daddr $HERE drop;") }
    chain in { type filter hook input priority 0; $([ "$1" = to ] || echo "ip saddr $HERE drop;") }
}
END
}
slow() { ip -n $NET link show >/dev/null && ip netns exec $NET tc qdisc add dev bhl-there root netem delay "$1"; }
heal() {
    ip netns exec $NET nft delete table inet sever 2>/dev/null || true
    ip netns exec $NET tc qdisc del dev bhl-there root 2>/dev/null || true
}

node() { admin get node $NODE --pool default -o json | jq -r ".$1"; }
is_node() { [ "$(node state)" = "$1" ]; }
runs() {
    submit "$1" 'sleep 300' "${@:2}"
    soon is_state "$1" running
    pid=$(container_pid)
    lives "$pid"
}
used() { admin get cards -o json | jq '[.items[].used_milli] | add'; }
free_cards() { admin get cards -o json | jq '[.items[] | select(.takes_work and .free_milli == 1000)] | length'; }
ends() {
    alice cancel "$1" -q
    soon is_state "$1" cancelled
    soon clean_cards
}

@test "over TLS the node reports and works; a certificate of somebody else is not taken" {
    runs plain --grace 1s
    ends plain
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -subj /CN=else -keyout /dev/null -out "$HOME_DIR/else.crt" 2>/dev/null
    chmod 644 "$HOME_DIR/else.crt"
    stop_now agent
    mv "$HOME_DIR/tls.crt" "$HOME_DIR/good.crt"
    cp "$HOME_DIR/else.crt" "$HOME_DIR/tls.crt"
    far
    soon is_node lost
    stop_now agent
    mv "$HOME_DIR/good.crt" "$HOME_DIR/tls.crt"
    far
    soon is_node schedulable
}

@test "answers that come late lose no node" {
    slow 400ms || skip "no netem here"
    runs patient --grace 1s
    for _ in 1 2 3 4 5 6; do
        sleep 1
        is_node schedulable
    done
    heal
    ends patient
}

@test "[S46] a node that is cut off is lost; its work runs on, and goes on when it is healed" {
    runs steady --grace 1s
    sever all
    soon is_node lost
    is_state steady lost
    lives "$pid"
    [ "$(used)" = 1000 ]
    [ "$(free_cards)" = 0 ]
    heal
    soon is_state steady running
    [ "$(workload steady attempt)" = 1 ]
    [ "$(container_pid)" = "$pid" ]
    soon is_node schedulable
    ends steady
    check_platform
}

@test "lost packets of one way alone do the same" {
    for way in to from; do
        runs "one-$way" --grace 1s
        sever $way
        soon is_node lost
        lives "$pid"
        [ "$(used)" = 1000 ]
        heal
        soon is_state "one-$way" running
        [ "$(container_pid)" = "$pid" ]
        ends "one-$way"
    done
}

@test "what began to recover is killed on the node that lost it before its card is anybody's" {
    runs mover --grace 1s --recovery any
    sever all
    soon is_node lost
    soon is_state mover queued
    [ "$(workload mover recoveries)" = 1 ]
    lives "$pid"
    [ "$(used)" = 1000 ]
    heal
    soon is_over "$pid"
    soon clean_cards
    # The only node is the one where it was lost.
    soon says mover 'lost before'
    alice cancel mover -q
    soon is_state mover cancelled
    check_platform
}

@test "a fence is for lost nodes; what runs on all the same is killed before its card is free" {
    admin stepup --password-file "$HOME_DIR/password" -q
    runs victim --grace 1s
    refused() { run admin fence node $NODE --reason "it is off"; [ "$status" -ne 0 ] && [[ $output == *"is not lost"* ]]; }
    refused
    sever all
    soon is_node lost
    run admin fence node $NODE --reason "power was cut" --dry-run
    [[ $output == *victim*failed*"nothing was changed"* ]]
    is_state victim lost
    admin fence node $NODE --reason "power was cut" -q
    is_state victim failed
    says victim 'given up'
    [ "$(used)" = 0 ]
    lives "$pid"
    [ "$(free_cards)" = 0 ]
    api GET "/audit?verb=node.fence" | jq -e '.items | length > 0' >/dev/null
    # The restart of the control plane forgets none of it.
    stop_now daemon
    start daemon
    soon is_ready
    is_node lost
    heal
    soon is_over "$pid"
    soon is_node cordoned
    soon clean_cards
    alarm_is_over node.fenced
    submit later 'sleep 300' --grace 1s
    soon is_state later queued
    admin set node $NODE --pool default state=schedulable -q
    soon is_state later running
    ends later
    check_platform
}

@test "a clock that goes three hours ahead changes no deadline" {
    local skew
    skew=$(echo /usr/lib/*/faketime/libfaketimeMT.so.1)
    [ -e "$skew" ] || skip "faketime is not installed"
    runs skewed --grace 2s
    stop_now agent
    far env LD_PRELOAD="$skew" FAKETIME=+3h FAKETIME_DONT_FAKE_MONOTONIC=1
    soon is_node schedulable
    is_state skewed running
    [ "$(container_pid)" = "$pid" ]
    SECONDS=0
    alice cancel skewed -q
    soon is_over "$pid"
    [ $SECONDS -ge 1 ]
    soon is_state skewed cancelled
    stop_now agent
    far
    soon is_node schedulable
    soon clean_cards
    check_platform
}
