#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who reaches whom: the same tenant, and nobody else, from the first
# instruction and while the rules are replaced.

load common

setup_file() {
    make_home brnet
    start_runner
    # What a container must not reach: a listener on the host.
    busybox nc -ll -p 45871 -e echo host </dev/null >/dev/null 2>&1 3>&- &
    echo $! >"$HOME_DIR/listener"
}

teardown_file() {
    kill "$(cat "$HOME_DIR/listener")"
    remove_home
}

teardown() {
    forget_all
}

serve='nc -ll -p 80 -e echo hello'

@test "instances of one tenant reach each other by IPv4 and IPv6" {
    server=$(start server 1 7 "$serve" '{"network": {}}')
    sleep 0.3
    start client 1 7 "nc -w 3 $(echo "$server" | jq -r .address) 80 </dev/null
        nc -w 3 $(echo "$server" | jq -r .address6) 80 </dev/null
        ip neigh 2>/dev/null | grep -c $(echo "$server" | jq -r .mac)" '{"network": {}}'
    [ "$(ended client)" = 0 ]
    [ "$(log_of client 1 | head -2)" = "$(printf 'hello\nhello')" ]
    [ "$(log_of client 1 | tail -1)" = 2 ]
}

@test "another tenant is not reached: no IPv4, no IPv6, no ARP answer" {
    server=$(start server 1 7 "$serve" '{"network": {}}')
    four=$(echo "$server" | jq -r .address)
    six=$(echo "$server" | jq -r .address6)
    sleep 0.3
    start client 1 8 "nc -w 2 $four 80 </dev/null && echo REACHED
        nc -w 2 $six 80 </dev/null && echo REACHED
        grep -i $(echo "$server" | jq -r .mac) /proc/net/arp && echo REACHED; true" '{"network": {}}'
    [ "$(ended client)" = 0 ]
    [[ $(log_of client 1) != *REACHED* ]]
    [[ $(log_of client 1) != *hello* ]]
}

@test "another tenant is not reached even by who has every right in its own network" {
    server=$(start server 1 7 "$serve" '{"network": {}}')
    four=$(echo "$server" | jq -r .address)
    six=$(echo "$server" | jq -r .address6)
    client=$(start client 1 8 'sleep 100' '{"network": {}}' | jq .pid)
    # The server is willing: it knows the way back.
    back() { nsenter --net="/proc/$(echo "$server" | jq .pid)/ns/net" ip "$@" dev eth0; }
    back route replace "$(record client | jq -r .address)/32"
    back -6 route replace "$(record client | jq -r .address6)/128"
    friend=$(start friend 1 7 'sleep 100' '{"network": {}}' | jq .pid)
    sleep 0.3
    for who in $friend $client; do
        inside() { nsenter --net="/proc/$who/ns/net" "$@"; }
        inside ip route replace "$four/32" dev eth0
        inside ip -6 route replace "$six/128" dev eth0
        if [ "$who" = "$friend" ]; then
            [ "$(inside busybox nc -w 2 "$four" 80 </dev/null)" = hello ]
            [ "$(inside busybox nc -w 2 "$six" 80 </dev/null)" = hello ]
        else
            not inside busybox nc -w 2 "$four" 80 </dev/null
            not inside busybox nc -w 2 "$six" 80 </dev/null
            # Not even the addresses of the hardware are learned.
            [[ $(inside ip neigh) != *"$(echo "$server" | jq -r .mac)"* ]]
            inside ip neigh replace "$four" lladdr "$(echo "$server" | jq -r .mac)" dev eth0
            not inside busybox nc -w 2 "$four" 80 </dev/null
        fi
    done
}

@test "host addresses, gateways, the metadata address, the outside and DNS are not reached" {
    host=$(hostname -I)
    [ "$(busybox nc -w 2 127.0.0.1 45871 </dev/null)" = host ]
    start probe 1 7 "for a in $host 127.0.0.1 10.0.112.0 10.0.112.254 10.0.127.254 \
            169.254.169.254 fd62:756c:6b68:7:: 8.8.8.8 224.0.0.1; do
            nc -w 1 \$a 45871 </dev/null && echo REACHED \$a
            nc -w 1 \$a 53 </dev/null && echo REACHED \$a
            nc -w 1 \$a 80 </dev/null && echo REACHED \$a
        done; wget -T 1 -q http://example.org/ && echo REACHED; ip route; true" '{"network": {}}'
    [ "$(ended probe)" = 0 ]
    [[ $(log_of probe 1) != *REACHED* ]]
    [[ $(log_of probe 1) != *default* ]]
}

@test "the first instruction already meets the rules" {
    server=$(start server 1 7 "$serve" '{"network": {}}')
    for i in 1 2 3 4 5; do
        start "quick-$i" 1 8 "i=0; while [ \$i -lt 20 ]; do
            nc -w 1 $(echo "$server" | jq -r .address) 80 </dev/null && echo REACHED
            nc -w 1 127.0.0.1 45871 </dev/null && echo REACHED
            i=\$((i+1)); [ \$i -lt 3 ] || break; done; true" '{"network": {}}' >/dev/null
    done
    for i in 1 2 3 4 5; do
        [ "$(ended "quick-$i")" = 0 ]
        [[ $(log_of "quick-$i" 1) != *REACHED* ]]
    done
}

@test "while rules are replaced the same tenant stays reachable and others never are" {
    server=$(start server 1 7 "$serve" '{"network": {}}' | jq -r .address)
    sleep 0.3
    start friend 1 7 "i=0; while [ \$i -lt 60 ]; do nc -w 2 $server 80 </dev/null
        i=\$((i+1)); sleep 0.03; done" '{"network": {}}'
    start enemy 1 8 "i=0; while [ \$i -lt 4 ]; do nc -w 1 $server 80 </dev/null
        i=\$((i+1)); done; true" '{"network": {}}'
    for i in 1 2 3 4 5 6; do
        start other 1 9 true '{"network": {}}' >/dev/null
        op remove other 1 >/dev/null
        rm -f "$HOME_DIR"/state/removed/other
    done
    [ "$(ended friend)" = 0 ]
    [ "$(log_of friend 1 | grep -c hello)" = 60 ]
    [ "$(ended enemy)" = 0 ]
    [[ $(log_of enemy 1) != *hello* ]]
}

@test "a port is pinned: what speaks with another address is dropped" {
    server=$(start server 1 7 'nc -ll -p 80 -e echo hello' '{"network": {}}')
    start victim 1 7 'sleep 100' '{"network": {}}' >/dev/null
    client=$(start client 1 7 'sleep 100' '{"network": {}}' | jq .pid)
    address=$(echo "$server" | jq -r .address)
    sleep 0.3
    # What a container without rights cannot do, root does inside its network.
    inside() { nsenter --net="/proc/$client/ns/net" "$@"; }
    [ "$(inside busybox nc -w 2 "$address" 80 </dev/null)" = hello ]
    inside ip addr add 10.0.112.77/20 dev eth0
    not inside busybox nc -w 1 -s 10.0.112.77 "$address" 80 </dev/null
    inside ip addr add fd62:756c:6b68:7::77/64 dev eth0 nodad
    not inside busybox nc -w 1 -s fd62:756c:6b68:7::77 "$(echo "$server" | jq -r .address6)" 80 </dev/null
    inside ip addr del 10.0.112.77/20 dev eth0
    # The victim's ARP entry is not poisoned.
    victim=$(record victim | jq .pid)
    inside arping -c 2 -w 1 -U -I eth0 -s "$address" "$address" >/dev/null 2>&1 || true
    neighbours=$(nsenter --net="/proc/$victim/ns/net" ip neigh | grep "$address " || true)
    [[ $neighbours != *"$(record client | jq -r .mac)"* ]]
    inside ip link set eth0 address 02:62:68:00:70:99
    not inside busybox nc -w 1 "$address" 80 </dev/null
}

@test "an instance without network has loopback only" {
    start one 1 7 'ls /proc/sys/net/ipv4/conf; ip addr | grep -c inet' '{}'
    [ "$(ended one)" = 0 ]
    [[ $(log_of one 1) != *eth0* ]]
}

@test "addresses follow from tenant and index, and one in use is refused" {
    [ "$(start one 1 7 'sleep 100' '{"network": {"address": 5}}' | jq -r .address)" = 10.0.112.5 ]
    run start two 1 7 'sleep 100' '{"network": {"address": 5}}'
    [ "$status" = 7 ]
    [ "$(start three 1 8 'sleep 100' '{"network": {"address": 5}}' | jq -r .address6)" = fd62:756c:6b68:8::5 ]
}

@test "an address that is used again brings no old neighbour along" {
    a=$(start old 1 7 "$serve" '{"network": {"address": 9}}' | jq -r .address)
    op remove old 1
    start new 1 8 "sleep 100" '{"network": {"address": 9}}'
    start asks 1 7 "nc -w 1 $a 80 </dev/null && echo REACHED; true" '{"network": {}}'
    [ "$(ended asks)" = 0 ]
    [[ $(log_of asks 1) != *REACHED* ]]
}
