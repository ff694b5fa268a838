/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a card's layout: on NVIDIA's cards (the stub) and on simulated
 * ones, failing and dying at every step. */
#include "accel/partition.h"
#include "tests/unit/accel/nvml_bed.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/clock.h"

/* --- a backend that fails or dies at a step --- */

#define S0 "SIM-0"

static const struct accel_ops *inner;
static struct accel_ops outer;
static int step;      /* changes so far */
static int dies_at;   /* 0: never; n: before the nth, -n: after it */
static int start_at;  /* what dies_at is from the start on */
static int fails_at;  /* 0: never; the nth change is refused */
static int fails_for; /* as many after it, too */

static void
begin_step(void)
{
    if (++step == dies_at)
        (void)raise(SIGKILL);
}

static int
end_step(int result)
{
    if (step == -dies_at)
        (void)raise(SIGKILL);
    return result;
}

static bool
is_refused(struct error *err)
{
    if (fails_at == 0 || step < fails_at || step > fails_at + fails_for)
        return false;
    (void)error_set(err, ERROR_BUSY, "the driver says no");
    return true;
}

static int
outer_cut(struct accel *accel, const char *uuid, bool on, struct error *err)
{
    begin_step();
    return is_refused(err) ? -1 : end_step(inner->cut(accel, uuid, on, err));
}

static int
outer_create(struct accel *accel, const char *part, struct error *err)
{
    begin_step();
    return is_refused(err) ? -1
                           : end_step(inner->slice_create(accel, part, err));
}

static int
outer_destroy(struct accel *accel, const char *part, struct error *err)
{
    begin_step();
    return is_refused(err) ? -1
                           : end_step(inner->slice_destroy(accel, part, err));
}

/* --- two machines --- */

struct machine {
    const char *backend, *card;
    const char *large, *small; /* two slices that stand side by side */
    const char *both;          /* as a layout */
};
static const struct machine machines[] = {
    { "nvml", U0, "3g.20gb@4", "1g.5gb@2", "1g.5gb@2 3g.20gb@4" },
    { "sim", S0, "3g.40gb@4", "1g.10gb@0", NULL },
};
static const struct machine *m;
static struct accel accel;
static struct partition *partition;
static char bound[ACCEL_PART_MAX]; /* the part that an instance holds */
static char holder;

static bool
is_bound(void *context, const char *part, const void *who)
{
    size_t size = strlen(bound);

    (void)context;
    return size > 0 && who != &holder &&
           (strcmp(bound, part) == 0 || strncmp(bound, part, strlen(part)) == 0);
}

static void
say(void *context, const char *text)
{
    (void)snprintf(context, 600, "%s", text);
}

static char told[600];

static void
start(void)
{
    struct error err = { 0 };
    char source[320], directory[320], cards[320];
    struct partition_options options = { .accel = &accel,
                                         .directory = directory,
                                         .is_bound = is_bound,
                                         .wait_ms = 200 };

    (void)snprintf(directory, sizeof(directory), "%s/records", home);
    if (strcmp(m->backend, "sim") == 0)
        (void)snprintf(source, sizeof(source), "%s/estate.json", home);
    else
        (void)snprintf(source, sizeof(source), "%s", home);
    (void)snprintf(cards, sizeof(cards), "%s/cards", home);
    if (accel_open(&accel, m->backend, source, cards, &err) != 0)
        fail_msg("%s", err.text);
    inner = accel.ops;
    outer = *inner;
    outer.cut = outer_cut;
    outer.slice_create = outer_create;
    outer.slice_destroy = outer_destroy;
    accel.ops = &outer;
    step = fails_at = fails_for = 0;
    dies_at = start_at;
    if (partition_open(&partition, &options, &err) != 0)
        fail_msg("%s", err.text);
    told[0] = '\0';
    partition_resume(partition, say, told);
}

static void
end(void)
{
    partition_close(partition);
    accel_close(&accel);
}

static void
restart(void)
{
    end();
    start();
}

static struct partition_view
view(void)
{
    struct partition_view seen = { .count = 0 };
    struct error err = { 0 };

    if (partition_look(partition, m->card, &seen, &err) != 0)
        fail_msg("%s", err.text);
    return seen;
}

static const char *
part(const char *slice)
{
    static char text[4][ACCEL_PART_MAX];
    static size_t next;
    char *out = text[next++ % 4];

    (void)snprintf(out, ACCEL_PART_MAX, "%s/%s", m->card, slice);
    return out;
}

static int
create(const char *slice)
{
    struct error err = { 0 };

    return partition_create(partition, part(slice), NULL, &err) == 0
               ? 0
               : (int)err.code;
}

static int
destroy(const char *slice)
{
    struct error err = { 0 };

    return partition_destroy(partition, part(slice), &err) == 0
               ? 0
               : (int)err.code;
}

static int
cut(bool on, bool clear)
{
    struct error err = { 0 };

    return partition_cut(partition, m->card, on, clear, &err) == 0
               ? 0
               : (int)err.code;
}

static bool
has(const struct partition_view *seen, const char *slice)
{
    for (size_t i = 0; i < seen->count; i++)
        if (strcmp(seen->slices[i].name, slice) == 0)
            return true;
    return false;
}

/* Cut, with both slices. */
static void
make_both(void)
{
    assert_int_equal(cut(true, false), 0);
    assert_int_equal(create(m->large), 0);
    assert_int_equal(create(m->small), 0);
}

static void
clear_machine(void)
{
    char path[320];

    (void)snprintf(path, sizeof(path), "%s/records", home);
    scratch_remove(path);
    /* The memory of simulated cards is a mount where that may be. */
    (void)snprintf(path, sizeof(path), "%s/cards", home);
    (void)umount2(path, MNT_DETACH);
    scratch_remove(path);
    bound[0] = '\0';
}

static int
begin(void **state)
{
    (void)fresh(state);
    m = &machines[0];
    make_text("/estate.json",
              "{\"simulated\":true,\"node\":\"n\",\"memory_file_mib\":4,"
              "\"cards\":[{\"uuid\":\"" S0 "\",\"vendor\":\"nvidia\","
              "\"model\":\"H100-80GB\",\"memory_mib\":81559,"
              "\"compute_units\":132,\"pci\":\"0000:01:00.0\","
              "\"driver\":\"d\",\"health\":\"healthy\","
              "\"device\":{\"major\":245,\"minor\":1}}]}");
    clear_machine();
    start();
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    end();
    return 0;
}

/* The same on the other machine. */
static void
move_to(const struct machine *machine)
{
    end();
    m = machine;
    clear_machine();
    stub_fill(world, 2);
    start();
}

#define EACH_MACHINE                                                           \
    for (size_t machine = 0; machine < 2; machine++, machine < 2               \
         ? move_to(&machines[machine])                                         \
         : (void)0)

/* --- changes that go well --- */

static void
a_change_is_shown_and_kept(void **state)
{
    struct partition_view seen;

    (void)state;
    EACH_MACHINE {
        seen = view();
        assert_false(seen.sliced);
        assert_string_equal(seen.layout, "");
        make_both();
        assert_int_equal(destroy(m->small), 0);
        assert_int_equal(destroy(m->small), 0);
        restart();
        seen = view();
        assert_true(seen.sliced);
        assert_string_equal(seen.layout, m->large);
        assert_string_equal(seen.foreign, "");
        assert_string_equal(seen.intent, "");
        assert_string_equal(seen.failure, "");
        assert_int_equal(cut(false, false), 0);
        seen = view();
        assert_false(seen.sliced);
        assert_string_equal(told, "");
    }
}

/* [N39] */
static void
only_what_is_touched_has_to_be_idle(void **state)
{
    struct partition_view seen;

    (void)state;
    make_both();
    assert_string_equal(view().layout, m->both);
    seen = view();
    /* A process on the large one. */
    for (size_t i = 0; i < seen.count; i++)
        if (strcmp(seen.slices[i].name, m->large) == 0)
            add_process(0, 77, 5, (unsigned)seen.slices[i].instance, 0);
    assert_int_equal(destroy(m->small), 0);
    assert_int_equal(create(m->small), 0);
    assert_int_equal(destroy(m->large), ERROR_CONFLICT);
    assert_int_equal(create(m->large), ERROR_CONFLICT);
    /* The mode is the whole card's. */
    assert_int_equal(cut(false, false), ERROR_CONFLICT);
    assert_string_equal(view().layout, m->both);
    world->cards[0].process_count = 0;
    assert_int_equal(cut(false, false), 0);
}

static void
what_an_instance_holds_is_not_touched(void **state)
{
    struct error err = { 0 };

    (void)state;
    EACH_MACHINE {
        make_both();
        (void)snprintf(bound, sizeof(bound), "%s", part(m->large));
        assert_int_equal(destroy(m->large), ERROR_CONFLICT);
        assert_int_equal(create(m->large), ERROR_CONFLICT);
        assert_int_equal(cut(false, false), ERROR_CONFLICT);
        assert_int_equal(cut(false, true), ERROR_CONFLICT);
        assert_true(strstr(view().failure, "an instance holds") != NULL);
        assert_int_equal(destroy(m->small), 0);
        /* Its own holder begins with a clean one. */
        assert_int_equal(
            partition_create(partition, part(m->large), &holder, &err), 0);
        bound[0] = '\0';
    }
}

/* --- failures --- */

/* [N36] */
static void
a_client_that_does_not_leave_costs_a_bounded_wait_and_nothing_else(
    void **state)
{
    struct partition_view seen;
    int64_t begun;

    (void)state;
    make_both();
    add_process(0, 77, 5, NVML_WHOLE, 0);
    begun = clock_mono_ms();
    step = 0;
    assert_int_equal(cut(false, false), ERROR_CONFLICT);
    assert_true(clock_mono_ms() - begun >= 200);
    assert_true(clock_mono_ms() - begun < 5000);
    assert_int_equal(step, 0);
    seen = view();
    assert_string_equal(seen.layout, m->both);
    assert_string_equal(seen.intent, "");
    assert_true(strstr(seen.failure, "processes are on") != NULL);
    assert_true(seen.failed_ms > 0);
    restart();
    assert_true(strstr(view().failure, "processes are on") != NULL);
    world->cards[0].process_count = 0;
    assert_int_equal(cut(false, false), 0);
    assert_string_equal(view().failure, "");
}

/* [N36] Two slices go, then the mode is refused: both are back. */
static void
a_failure_leaves_the_old_layout_served(void **state)
{
    struct partition_view seen;

    (void)state;
    EACH_MACHINE {
        for (int at = 1; at <= 3; at++) {
            make_both();
            step = 0;
            fails_at = at;
            assert_int_equal(cut(false, false), ERROR_BUSY);
            fails_at = 0;
            seen = view();
            assert_true(seen.sliced);
            assert_int_equal(seen.count, 2);
            assert_true(has(&seen, m->large) && has(&seen, m->small));
            assert_string_equal(seen.foreign, "");
            assert_string_equal(seen.intent, "");
            assert_true(strstr(seen.failure, "the driver says no") != NULL);
            assert_int_equal(cut(false, false), 0);
        }
    }
}

/* [N36] The way back fails too: it is tried again before anything else. */
static void
what_cannot_be_taken_back_is_shown_and_tried_again(void **state)
{
    struct partition_view seen;

    (void)state;
    EACH_MACHINE {
        make_both();
        step = 0;
        fails_at = 2;
        fails_for = 1; /* the second removal, and the first creation */
        assert_int_equal(cut(false, false), ERROR_BUSY);
        seen = view();
        assert_int_equal(seen.count, 1);
        assert_true(strstr(seen.intent, "make the card whole") != NULL);
        assert_true(strstr(seen.failure, "the driver says no") != NULL);
        fails_at = 1;
        fails_for = 1000;
        assert_int_equal(destroy(m->small), ERROR_BUSY);
        fails_at = 0;
        restart();
        assert_true(strstr(told, "completed") != NULL);
        seen = view();
        assert_false(seen.sliced);
        assert_string_equal(seen.intent, "");
    }
}

/* --- deaths --- */

enum deed { MAKE, REMOVE, JOIN, CUT_DEED, AGAIN };

static void
act(enum deed deed)
{
    if (deed == MAKE)
        (void)create(m->small);
    else if (deed == REMOVE)
        (void)destroy(m->large);
    else if (deed == JOIN)
        (void)cut(false, false);
    else if (deed == CUT_DEED)
        (void)cut(true, false);
    else
        (void)create(m->large); /* is there: made anew */
}

/* True when the child died, false when it came to the end first. */
static bool
dies(enum deed deed, int at)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        step = 0;
        dies_at = at;
        act(deed);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status);
}

static void
stage(enum deed deed)
{
    move_to(m);
    if (deed == CUT_DEED)
        return;
    assert_int_equal(cut(true, false), 0);
    assert_int_equal(create(m->large), 0);
    if (deed == JOIN)
        assert_int_equal(create(m->small), 0);
}

/* What only adds is taken back, everything else is completed. */
static void
check_after(enum deed deed)
{
    struct partition_view seen = view();

    assert_string_equal(seen.foreign, "");
    assert_string_equal(seen.intent, "");
    assert_int_equal(seen.sliced, deed != JOIN);
    assert_int_equal(has(&seen, m->large), deed == MAKE || deed == AGAIN);
    assert_false(has(&seen, m->small));
    /* It is usable: whole and cut again, with both slices. */
    assert_int_equal(cut(false, false), 0);
    make_both();
}

/* [N36] */
static void
a_death_at_any_step_leaves_no_half_layout(void **state)
{
    static const int steps[] = { [MAKE] = 1, [REMOVE] = 1, [JOIN] = 3,
                                 [CUT_DEED] = 1, [AGAIN] = 2 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        m = &machines[i];
        for (int deed = MAKE; deed <= AGAIN; deed++) {
            int deaths = 0;

            for (int at = 1; at < 10; at++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    stage((enum deed)deed);
                    if (!dies((enum deed)deed, at * sign))
                        continue;
                    deaths++;
                    restart();
                    assert_true(told[0] != '\0');
                    check_after((enum deed)deed);
                }
            /* Before and after each of its steps. */
            assert_int_equal(deaths, 2 * steps[deed]);
        }
    }
}

/* Dies in a call of the library, which has a slice's two halves. */
static bool
dies_in(enum deed deed, const char *call)
{
    int status = 0;
    pid_t child;

    stub_fault(world, call, 0, STUB_DIE);
    child = fork();
    if (child == 0) {
        act(deed);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    world->fault_count = 0;
    return WIFSIGNALED(status);
}

static void
a_death_inside_of_the_driver_leaves_no_half_slice(void **state)
{
    static const struct {
        enum deed deed;
        const char *call;
    } deaths[] = {
        { MAKE, "nvmlGpuInstanceCreateComputeInstance" },
        { AGAIN, "nvmlGpuInstanceCreateComputeInstance" },
        { AGAIN, "nvmlGpuInstanceDestroy" },
        { REMOVE, "nvmlGpuInstanceDestroy" },
        { JOIN, "nvmlGpuInstanceDestroy" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
        struct partition_view seen;

        stage(deaths[i].deed);
        assert_true(dies_in(deaths[i].deed, deaths[i].call));
        restart();
        seen = view();
        for (size_t k = 0; k < seen.count; k++)
            assert_int_equal(seen.slices[k].compute, 0);
        check_after(deaths[i].deed);
    }
}

/* A second death, in the middle of the completion. */
static void
a_death_while_resuming_is_resumed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        m = &machines[i];
        for (int at = 1; at <= 3; at++) {
            int status = 0;
            pid_t child;

            stage(JOIN);
            assert_true(dies(JOIN, 1));
            end();
            child = fork();
            if (child == 0) {
                start_at = at;
                start();
                _exit(0);
            }
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFSIGNALED(status));
            start();
            check_after(JOIN);
        }
    }
}

/* --- what others made --- */

/* [N38] */
static void
a_mode_that_was_found_is_taken_back(void **state)
{
    (void)state;
    EACH_MACHINE {
        struct error err = { 0 };

        assert_int_equal(accel_cut(&accel, m->card, true, &err), 0);
        restart();
        assert_true(view().sliced);
        assert_int_equal(cut(false, false), 0);
        assert_false(view().sliced);
    }
}

/* [N38] */
static void
foreign_slices_are_seen_and_left_until_an_operator_says(void **state)
{
    struct partition_view seen;

    (void)state;
    EACH_MACHINE {
        struct error err = { 0 };

        assert_int_equal(accel_cut(&accel, m->card, true, &err), 0);
        assert_int_equal(accel_slice_create(&accel, part(m->large), &err), 0);
        restart();
        seen = view();
        assert_string_equal(seen.layout, m->large);
        assert_string_equal(seen.foreign, m->large);
        assert_int_equal(destroy(m->large), ERROR_CONFLICT);
        assert_int_equal(create(m->large), ERROR_CONFLICT);
        assert_int_equal(cut(false, false), ERROR_CONFLICT);
        assert_string_equal(view().layout, m->large);
        assert_true(strstr(view().failure, "not made by the platform") !=
                    NULL);
        /* One beside it can be made, and goes alone. */
        assert_int_equal(create(m->small), 0);
        assert_string_equal(view().foreign, m->large);
        assert_int_equal(destroy(m->small), 0);
        assert_int_equal(cut(false, true), 0);
        seen = view();
        assert_false(seen.sliced);
        assert_string_equal(seen.foreign, "");
    }
}

static void
a_slice_that_a_reset_took_is_no_longer_ours(void **state)
{
    struct error err = { 0 };

    (void)state;
    assert_int_equal(cut(true, false), 0);
    assert_int_equal(create(m->large), 0);
    assert_int_equal(inner->slice_destroy(&accel, part(m->large), &err), 0);
    restart();
    assert_int_equal(accel_slice_create(&accel, part(m->large), &err), 0);
    assert_string_equal(view().foreign, m->large);
    assert_int_equal(destroy(m->large), ERROR_CONFLICT);
}

static void
a_record_that_cannot_be_read_makes_all_slices_foreign(void **state)
{
    (void)state;
    make_both();
    make_text("/records/" U0 ".json", "{\"own\":[");
    restart();
    assert_string_equal(view().foreign, m->both);
    assert_true(strstr(view().failure, "cannot be read") != NULL);
    assert_int_equal(cut(false, false), ERROR_CONFLICT);
    assert_int_equal(cut(false, true), 0);
    assert_string_equal(view().failure, "");
}

static void
names_that_are_none_are_refused(void **state)
{
    struct error err = { 0 };

    (void)state;
    assert_int_equal(cut(true, false), 0);
    assert_int_equal(partition_create(partition, U0, NULL, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(
        partition_create(partition, "../../etc/1g.5gb@0", NULL, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(partition_destroy(partition, "NONE/1g.5gb@0", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(create("9g.90gb@0"), ERROR_NOT_FOUND);
    assert_int_equal(create("3g.20gb@1"), ERROR_NOT_FOUND);
    assert_string_equal(view().layout, "");
}

static int
leave(void **state)
{
    clear_machine();
    return drop(state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
        TEST(a_change_is_shown_and_kept),
        TEST(only_what_is_touched_has_to_be_idle),
        TEST(what_an_instance_holds_is_not_touched),
        TEST(a_client_that_does_not_leave_costs_a_bounded_wait_and_nothing_else),
        TEST(a_failure_leaves_the_old_layout_served),
        TEST(what_cannot_be_taken_back_is_shown_and_tried_again),
        TEST(a_death_at_any_step_leaves_no_half_layout),
        TEST(a_death_inside_of_the_driver_leaves_no_half_slice),
        TEST(a_death_while_resuming_is_resumed),
        TEST(a_mode_that_was_found_is_taken_back),
        TEST(foreign_slices_are_seen_and_left_until_an_operator_says),
        TEST(a_slice_that_a_reset_took_is_no_longer_ours),
        TEST(a_record_that_cannot_be_read_makes_all_slices_foreign),
        TEST(names_that_are_none_are_refused),
#undef TEST
    };

    return cmocka_run_group_tests(tests, make, leave);
}
