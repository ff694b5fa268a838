# SPDX-License-Identifier: Apache-2.0
# make                 build all programs into build/$(BUILD)/
# make test            unit tests, then the stories (see tests/README.md)
# make test-unit       unit, store and simulation tests only
# make test-audit      every lie about the audit log is planted and named
# make bench-audit     durable records a second, verification, proofs
# make test-hostile    what a stranger, a tenant or a node may try (needs root)
# make test-tsan       what has threads, with ThreadSanitizer
# make test-fuzz       each fuzz target for FUZZ_SECONDS (10), with clang
# make test-contract   the OpenAPI document linted, traffic checked against it
# make bench-commit    changes a second through the API (release build)
# make bench-read      lists and single objects of a large world
# make bench-place     placements a second where work comes and goes
# make bench-watch     what 5,000 watchers cost everybody else
# make bench-timing    does the time of an answer tell what it hides
# make bench-slurm     decisions a second beside slurmctld's
# make bench-access    a decision with 800,000 grants (release build)
# make bench-sched    the scheduler on a large estate (release build)
# make bench-start     what the runner adds to conmon and crun alone
# make bench-agent     what agent and runner cost while 64 slices run
# make gpu-check       what this machine's own cards say; else skipped
# make test-cards      vendors' libraries, simulated cards, handover
# make soak            an hour of mixed load (SOAK_SECONDS)
# make test-access     every property of rights (CASES, 20,000)
# make test-routes     every route as every role
# make test-twoworlds  what a tenant does is in no answer to another
# make test-simulate   random histories, every invariant after each step
# make lint            layers, purity, clang-tidy, cppcheck
# make test-crash      disk faults, crash points and kills (tests/crash)
# make soak-crash      the same with 1,000 kills at random moments
# make test-mutants    planted faults, which tests/crash must find
# BUILD=debug|release|asan|tsan|fuzz|cov|crash   CC=gcc|clang
# Without make's own rules, which it would try for each header anew.
MAKEFLAGS += --no-builtin-rules
comma := ,
BUILD ?= debug
CC    ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
OUT   ?= build/$(BUILD)

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Wold-style-definition -Wpointer-arith \
        -Wcast-qual -Wcast-align -Wwrite-strings -Wundef -Wvla -Wformat=2 \
        -Wimplicit-fallthrough -Wswitch-enum -Wconversion \
        -Wdouble-promotion -Wnull-dereference -Werror
ifeq ($(findstring clang,$(CC)),)
WARN += -Wlogical-op -Wduplicated-cond
endif
HARDEN := -fno-common -fstack-protector-strong -fstack-clash-protection \
          -fcf-protection=full -D_FORTIFY_SOURCE=2 -fPIE
CFLAGS_debug   := -O1 -g3 -fno-omit-frame-pointer
CFLAGS_release := -O2 -g $(HARDEN)
CFLAGS_asan    := -O1 -g -fno-omit-frame-pointer \
                  -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_tsan    := -O1 -g -fsanitize=thread
CFLAGS_fuzz    := -O1 -g -fno-omit-frame-pointer \
                  -fsanitize=fuzzer-no-link,address,undefined
CFLAGS_cov     := -O0 -g --coverage
CFLAGS_crash   := -O1 -g -fno-omit-frame-pointer -DCRASH_POINTS
LDFLAGS_release := -pie -Wl,-z,relro,-z,now
STD := -std=c17 -D_GNU_SOURCE -Isrc -I. -I$(OUT)/gen -ffp-contract=off -fno-math-errno
ALL_CFLAGS  = $(STD) $(WARN) -include src/base/banned.h $(CFLAGS_$(BUILD)) $(CFLAGS)
ALL_LDFLAGS = $(CFLAGS_$(BUILD)) $(LDFLAGS_$(BUILD)) $(LDFLAGS)

# Each folder is a static library; the order below is the order of linking,
# outermost first (tools/layers.txt says who may include whom).
LAYERS := cli api control agent runner trace identity engine store accel core base
LIBS_LINK := -lmicrohttpd -lsqlite3 -lcurl -ljansson -lsodium -lcrypto -loath -lqrencode \
             -lseccomp -lyaml -lz -lm -lpthread -ldl \
             -Wl,--push-state,--as-needed -lhwloc -Wl,--pop-state
LIBS   := $(foreach l,$(LAYERS),$(if $(wildcard src/$(l)/*.c),$(OUT)/lib$(l).a))
PROGRAMS := $(patsubst src/%.c,$(OUT)/%,$(wildcard src/*.c))
# What takes longest begins first.
UNIT   := $(patsubst %.c,$(OUT)/%,$(wildcard tests/simulate/test_*.c tests/store/test_*.c tests/unit/*/test_*.c))
BENCH  := $(patsubst %.c,$(OUT)/%,$(wildcard bench/*.c))
BENCH_COMMON := $(patsubst %.c,$(OUT)/%.o,$(wildcard bench/common/*.c))
FUZZ   := $(patsubst %.c,$(OUT)/%,$(wildcard tests/fuzz/fuzz_*.c))
EXAMPLES := $(foreach d,$(patsubst %/,%,$(wildcard examples/*/)),$(if $(wildcard $(d)/*.c),$(OUT)/$(d)/$(notdir $(d))))

all: $(PROGRAMS) $(EXAMPLES)

define layer
$(OUT)/lib$(1).a: $(patsubst %.c,$(OUT)/%.o,$(wildcard src/$(1)/*.c)) $(patsubst %.sql,$(OUT)/%.o,$(wildcard src/$(1)/schema/*.sql))
	@rm -f $$@
	@ar rcsD $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer,$(l))))

$(OUT)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC $<"
	@$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
# A migration becomes an object with the symbols sql_NNNN_name_start/_end.
$(OUT)/%.o: %.sql
	@mkdir -p $(@D)
	@echo "  SQL $<"
	@sh tools/embed sql_$(basename $(notdir $<)) $< > $(@:.o=.S)
	@$(CC) -c $(@:.o=.S) -o $@
$(OUT)/%: src/%.c $(LIBS)
	@mkdir -p $(@D)
	@echo "  LD $@"
	@$(CC) $(ALL_CFLAGS) -MMD -MP $< $(LIBS) $(ALL_LDFLAGS) $(LIBS_LINK) -o $@
# The process that vendors' libraries are loaded into has nothing else in it.
$(OUT)/bulkhead-cards: src/bulkhead-cards.c $(OUT)/libaccel.a $(OUT)/libcore.a $(OUT)/libbase.a
	@mkdir -p $(@D)
	@echo "  LD $@"
	@$(CC) $(ALL_CFLAGS) -MMD -MP $(filter %.c %.a,$^) $(ALL_LDFLAGS) -Wl,--as-needed $(LIBS_LINK) -o $@
# A unit test links its own layer and those further inward only.
from = $(if $(filter $(1),$(firstword $(2))),$(2),$(call from,$(1),$(wordlist 2,99,$(2))))
libs_of = $(foreach l,$(call from,$(1),$(LAYERS)),$(if $(wildcard src/$(l)/*.c),$(OUT)/lib$(l).a))
define unit
$(OUT)/tests/unit/$(1)/%: $(OUT)/tests/unit/$(1)/%.o $(call libs_of,$(1))
	@echo "  LD $$@"
	@$$(CC) $$< $(call libs_of,$(1)) $$(ALL_LDFLAGS) $$(LIBS_LINK) -lcmocka -o $$@
endef
$(foreach l,$(LAYERS),$(eval $(call unit,$(l))))
$(OUT)/tests/%: $(OUT)/tests/%.o $(LIBS)
	@echo "  LD $@"
	@$(CC) $< $(LIBS) $(ALL_LDFLAGS) $(LIBS_LINK) -lcmocka -o $@
$(OUT)/tests/fuzz/%: $(OUT)/tests/fuzz/%.o $(LIBS)
	@echo "  LD $@"
	@$(CC) $< $(LIBS) $(ALL_LDFLAGS) -fsanitize=fuzzer $(LIBS_LINK) -lcmocka -o $@
CRASH := $(OUT)/tests/crash/test_disk
# What two worlds take from outside is put in place by the linker.
TWOWORLDS := $(OUT)/tests/simulate/twoworlds/twoworlds
TWOWORLDS_WRAPS := random_bytes id_next clock_mono_ms clock_wall_ms loop_every \
                   loop_after_change loop_hurry exchange_finish change_create \
                   journal_append clock_mono_us loop_work estimates_new hub_add \
                   hub_wake stream_add
$(TWOWORLDS): %: %.o $(LIBS)
	@echo "  LD $@"
	@$(CC) $< $(LIBS) $(ALL_LDFLAGS) $(LIBS_LINK) -lcmocka \
	    $(addprefix -Wl$(comma)--wrap=,$(TWOWORLDS_WRAPS)) -o $@
# The campaigns of tests/hostile: what a story starts, one program a file.
HOSTILE := $(patsubst %,$(OUT)/tests/hostile/%,fields agent flood witness forger)
$(HOSTILE): %: %.o $(OUT)/tests/hostile/wire.o $(OUT)/tests/hostile/attacks.o $(LIBS)
	@echo "  LD $@"
	@$(CC) $(filter %.o,$^) $(LIBS) $(ALL_LDFLAGS) $(LIBS_LINK) -o $@
$(CRASH): %: %.o $(OUT)/tests/crash/vfs.o $(OUT)/tests/crash/script.o $(LIBS)
	@echo "  LD $@"
	@$(CC) $(filter %.o,$^) $(LIBS) $(ALL_LDFLAGS) $(LIBS_LINK) -lcmocka -o $@
$(OUT)/bench/%: $(OUT)/bench/%.o $(BENCH_COMMON) $(LIBS)
	@echo "  LD $@"
	@$(CC) $< $(BENCH_COMMON) $(LIBS) $(ALL_LDFLAGS) $(LIBS_LINK) -o $@
# Vendors' libraries as tests have them: the true interface, scripted answers.
STUB_NVML := $(OUT)/tests/stub/nvml/libnvidia-ml.so.1
$(STUB_NVML): $(filter-out %_world.c,$(wildcard tests/stub/nvml*.[ch])) src/accel/nvml.h src/accel/nvml.def Makefile
	@mkdir -p $(@D)
	@echo "  LD $@"
	@$(CC) $(STD) $(WARN) -include src/base/banned.h -O1 -g -fPIC -shared $(filter %.c,$^) -o $@
$(OUT)/tests/stub/nvml_world: $(OUT)/tests/stub/nvml_world.o
	@echo "  LD $@"
	@$(CC) $< $(ALL_LDFLAGS) -o $@
STUB_CUDA := $(OUT)/tests/stub/nvml/libcuda.so.1
$(STUB_CUDA): tests/stub/cuda.c tests/stub/nvml_stub.h src/accel/cuda.h src/accel/cuda.def Makefile
	@mkdir -p $(@D)
	@echo "  LD $@"
	@$(CC) $(STD) $(WARN) -include src/base/banned.h -O1 -g -fPIC -shared $(filter %.c,$^) -o $@
$(OUT)/tests/stub/nvml/nvidia-smi: $(OUT)/tests/stub/nvidia_smi.o
	@mkdir -p $(@D)
	@echo "  LD $@"
	@$(CC) $< $(ALL_LDFLAGS) -o $@
STUB_ROCM := $(OUT)/tests/stub/rocm/librocm_smi64.so.1
$(STUB_ROCM): tests/stub/rsmi.c tests/stub/rsmi_stub.h src/accel/rsmi.h src/accel/rsmi.def
STUB_ZES := $(OUT)/tests/stub/zes/libze_loader.so.1
$(STUB_ZES): tests/stub/zes.c tests/stub/zes_stub.h src/accel/zes.h src/accel/zes.def
$(STUB_ROCM) $(STUB_ZES): Makefile
	@mkdir -p $(@D)
	@echo "  LD $@"
	@$(CC) $(STD) $(WARN) -include src/base/banned.h -O1 -g -fPIC -shared $(filter %.c,$^) -o $@
STUBS := $(STUB_NVML) $(STUB_CUDA) $(OUT)/tests/stub/nvml/nvidia-smi $(STUB_ROCM) $(STUB_ZES) $(OUT)/tests/stub/nvml_world
$(OUT)/tests/unit/accel/test_accel_nvml $(OUT)/tests/unit/accel/test_nvml_slice $(OUT)/tests/unit/accel/test_partition $(OUT)/tests/unit/accel/test_accel_vendor: | $(STUB_NVML)
$(OUT)/tests/unit/accel/test_accel_rocm $(OUT)/tests/unit/accel/test_accel_zes $(OUT)/tests/unit/accel/test_accel_cuda: | $(STUBS)
$(OUT)/tests/unit/accel/test_accel_vendor $(OUT)/tests/unit/accel/test_accel_rocm $(OUT)/tests/unit/accel/test_accel_zes $(OUT)/tests/unit/accel/test_accel_cuda: | $(OUT)/bulkhead-cards
# A test that starts the program it is about.
$(OUT)/tests/unit/identity/test_signer: | $(OUT)/bulkhead-signer
# Programs that run inside containers: static, standing alone, one a folder.
define example
$(OUT)/$(1)/$(notdir $(1)): $(wildcard $(1)/*.c $(1)/*.h) Makefile
	@mkdir -p $$(@D)
	@echo "  LD $$@"
	@$$(CC) $$(STD) $$(WARN) -include src/base/banned.h -O2 -g -static $$(filter %.c,$$^) -lm -o $$@
endef
$(foreach d,$(patsubst %/,%,$(wildcard examples/*/)),$(if $(wildcard $(d)/*.c),$(eval $(call example,$(d)))))

# Not part of ./check: it needs packages from npm, and says so without them.
test-contract: all hostile
	@BUILD=$(BUILD) tests/contract/run
bench: $(BENCH)
# What is measured is what is installed: the release build.
# Those that start a daemon, then the others.
BENCHES := bench-commit bench-read bench-watch bench-timing
BENCHES += bench-slurm bench-sched bench-place bench-audit bench-access
ifeq ($(BUILD),release)
bench-commit bench-read bench-watch bench-timing: bench-%: $(OUT)/bench/% $(OUT)/bulkheadd $(OUT)/bulkhead-signer
	@$<
bench-sched: $(OUT)/bench/sched $(OUT)/bench/place
	@failed=0; for b in $^; do $$b || failed=1; done; exit $$failed
bench-place: $(OUT)/bench/place
	@$<
bench-audit: $(OUT)/bench/audit
	@$<
bench-access: $(OUT)/bench/access
	@$<
bench-slurm: $(OUT)/bench/slurm_peer
	@bench/slurm.sh $<
else
$(BENCHES):
	@$(MAKE) BUILD=release OUT=build/release $@
endif
ifeq ($(BUILD),release)
bench-start: all $(OUT)/bench/start
	@bench/start.sh
bench-agent: all
	@bench/agent.sh
else
bench-start bench-agent:
	@$(MAKE) BUILD=release OUT=build/release $@
endif
# What the libraries of this machine say about its cards; without any: skipped.
gpu-check: $(OUT)/bulkhead-cards
	@bench/gpu/run $(OUT)
CARDS := $(filter $(OUT)/tests/unit/accel/%,$(UNIT)) $(OUT)/tests/unit/core/test_geometry $(OUT)/tests/unit/core/test_observe
test-cards: $(CARDS)
	@tools/run-unit $(CARDS)
tests: $(UNIT) $(TWOWORLDS)
test-unit: $(UNIT)
	@tools/run-unit $(UNIT)
# What root of the host may do to the log, for tests/stories/audit.
FORGER := $(OUT)/tests/hostile/forger
test-stories: all $(FORGER) $(STUBS)
	@BUILD=$(BUILD) tools/run-stories $(filter-out $(NIGHTLY),$(sort $(wildcard tests/stories/*/*.bats)))
# Those that take a minute and more, and what clang says of the tests.
NIGHTLY := $(addprefix tests/stories/,agent/partition.bats agent/noise.bats runner/neighbour.bats)
test-nightly: all $(STUBS)
	@$(MAKE) CC=clang OUT=build/clang all tests
	@BUILD=$(BUILD) tools/run-stories $(NIGHTLY)
test: test-unit test-stories
# Every lie that can be told about the log is planted, and named by the
# verifier; QUICK leaves out what starts a daemon.
AUDIT := $(patsubst %,$(OUT)/tests/unit/%,core/test_merkle core/test_record \
         core/test_checkpoint core/test_witness core/test_keychain \
         identity/test_signer identity/test_audit_dir cli/test_audit_verify \
         cli/test_audit_planted cli/test_audit_pruned cli/test_pruning \
         cli/test_audit_proof control/test_outbox)
ifdef QUICK
test-audit: $(filter %planted %pruned %pruning %verify %proof %witness %keychain,$(AUDIT))
	@tools/check-lies
	@tools/run-unit $^
else
test-audit: all $(FORGER) $(AUDIT)
	@tools/check-lies
	@tools/run-unit $(AUDIT)
	@BUILD=$(BUILD) tools/run-stories tests/stories/audit
endif
# 200,000 random steps (STEPS); 10 million in soak-simulate, where the whole
# world is recounted after every 20th set (SAMPLE): build it with BUILD=release.
test-simulate: $(OUT)/tests/simulate/test_world
	@BUILD=$(BUILD) tests/simulate/run
soak-simulate: $(OUT)/tests/simulate/test_world
	@BUILD=$(BUILD) STEPS=$${STEPS:-10000000} \
		SIMULATE_SAMPLE=$${SAMPLE:-20} tests/simulate/run
# Every route as every role, on one's own objects and on another tenant's.
test-routes: $(OUT)/tests/unit/api/test_routes
	@tools/run-unit $<
# 100,000 requests (STEPS) in two worlds that differ in one tenant.
test-twoworlds: $(TWOWORLDS)
	@BUILD=$(BUILD) tests/simulate/twoworlds/run
test-twoworlds-mutants:
	@tests/simulate/twoworlds/mutants
test-simulate-mutants:
	@tests/simulate/mutants
# What test-unit runs too, with how often each rule was met.
ACCESS := $(patsubst %,$(OUT)/tests/simulate/test_%,access delegation second)
test-access: $(ACCESS)
	@tests/simulate/run-access $^
test-access-mutants:
	@tests/simulate/access-mutants
hostile: all $(HOSTILE)
# What the API is asked in every field is asked of a build with sanitizers.
test-hostile: hostile
	@$(MAKE) BUILD=asan OUT=build/asan build/asan/bulkheadd
	@BUILD=$(BUILD) TRIES=1 tools/run-stories tests/stories/hostile tests/hostile
# The core has no threads; all that lies further out, and a daemon that is asked.
TSAN := $(filter $(foreach l,base store identity control api agent runner,$(OUT)/tests/unit/$(l)/%) $(OUT)/tests/store/%,$(UNIT))
ifeq ($(BUILD),tsan)
test-tsan: all $(TSAN)
	@tools/run-tsan $(TSAN) -- tests/stories/api/watch.bats tests/stories/api/repeat.bats
else
test-tsan:
	@$(MAKE) BUILD=tsan OUT=build/tsan $@
endif
ifeq ($(BUILD),fuzz)
fuzz: $(FUZZ)
test-fuzz: fuzz
	@tools/run-fuzz $(FUZZ)
else
fuzz test-fuzz:
	@$(MAKE) BUILD=fuzz CC=clang OUT=build/fuzz $@
endif
ifeq ($(BUILD),crash)
test-disk: $(CRASH)
	@tools/run-unit $(CRASH)
test-crash: all test-disk
	@tests/crash/backup
	@tests/crash/run
soak-crash: all
	@KILLS=$${KILLS:-1000} SETTLE=$${SETTLE:-5} POINTS=none tests/crash/run
else
test-disk test-crash soak-crash:
	@$(MAKE) BUILD=crash OUT=build/crash $@
endif
# An hour (SOAK_SECONDS) of mixed load: nothing grows, everything adds up.
soak: all
	@BUILD=$(BUILD) tests/soak/run
test-mutants:
	@tests/crash/mutants
lint:
	@tools/check-layers
	@tools/check-pure
	@tools/check-compile
	@tools/check-tidy
	@tools/check-cppcheck
clean:
	rm -rf build

.SECONDARY:
.PHONY: all gpu-check test-nightly test-cards tests bench $(BENCHES) bench-start bench-agent soak test test-audit test-contract test-unit test-stories hostile test-hostile test-tsan fuzz test-fuzz lint clean \
        test-disk test-crash soak-crash test-mutants test-simulate \
        soak-simulate test-simulate-mutants test-routes test-twoworlds \
        test-twoworlds-mutants test-access test-access-mutants
.DELETE_ON_ERROR:
-include $(wildcard $(OUT)/tests/hostile/*.d $(OUT)/*.d $(OUT)/*/*.d $(OUT)/*/*/*.d $(OUT)/*/*/*/*.d $(OUT)/*/*/*/*/*.d)
