/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/logs.h"
#include "base/clock.h"

/* An engine that has one log, or none. */
struct fake {
    struct engine engine;
    const char *bytes; /* NULL: the instance is gone */
    size_t size;
    bool ended;
    int quiet; /* reads that give nothing first */
};

#define STRETCH 3

static int
fake_log(struct engine *engine, const char *instance, int64_t incarnation,
         int64_t offset, int64_t max, struct engine_log *out,
         struct error *err)
{
    struct fake *fake = (struct fake *)engine;
    size_t left;

    (void)instance;
    (void)incarnation;
    if (fake->bytes == NULL)
        return error_set(err, ERROR_GONE, "removed");
    out->next = offset;
    if (fake->quiet > 0) {
        fake->quiet--;
        return 0;
    }
    /* Its offsets are not the text's. */
    offset /= STRETCH;
    left = (size_t)offset < fake->size ? fake->size - (size_t)offset : 0;
    if (left > (size_t)max)
        left = (size_t)max;
    buffer_add(&out->bytes, fake->bytes + offset, left);
    offset += (int64_t)left;
    out->next = offset * STRETCH;
    out->complete = fake->ended && (size_t)offset == fake->size;
    return 0;
}

static const struct engine_ops fake_ops = { .name = "fake",
                                            .log = fake_log };

struct scene {
    char directory[64];
    struct fake fake;
    struct logs *logs;
    struct arena *arena;
};

static int
scene_open(void **state)
{
    struct scene *scene = memory_new(1, sizeof(*scene));

    (void)snprintf(scene->directory, sizeof(scene->directory),
                   "/tmp/bulkhead-logs-XXXXXX");
    assert_non_null(mkdtemp(scene->directory));
    scene->fake.engine.ops = &fake_ops;
    scene->logs = logs_new(&scene->fake.engine, scene->directory);
    scene->arena = arena_new();
    *state = scene;
    return 0;
}

static size_t
count_files(const struct scene *scene, bool remove)
{
    DIR *dir = opendir(scene->directory);
    struct dirent *entry;
    size_t count = 0;

    while ((entry = readdir(dir)) != NULL) {
        char path[400];

        if (entry->d_name[0] == '.')
            continue;
        count++;
        (void)snprintf(path, sizeof(path), "%s/%s", scene->directory,
                       entry->d_name);
        if (remove)
            (void)unlink(path);
    }
    (void)closedir(dir);
    return count;
}

static int
scene_close(void **state)
{
    struct scene *scene = *state;

    (void)count_files(scene, true);
    (void)rmdir(scene->directory);
    logs_free(scene->logs);
    arena_free(scene->arena);
    free(scene);
    return 0;
}

static struct report_log
read_log(struct scene *scene, int64_t offset, int64_t max, int64_t wait_ms)
{
    struct order_log wanted = { 4, "in_a", 1, offset, max, wait_ms };
    struct report_log fact;

    logs_read(scene->logs, &wanted, scene->arena, &fact);
    return fact;
}

static void
a_log_is_whole_after_its_instance_is_gone(void **state)
{
    struct scene *scene = *state;
    char *text = memory_new(200001, 1);
    struct report_log fact;
    struct error err;

    memset(text, 'x', 200000);
    text[199999] = 'y';
    scene->fake.bytes = text;
    scene->fake.size = 200000;
    scene->fake.ended = true;
    assert_int_equal(logs_keep(scene->logs, "in_a", 1, &err),
                     0);
    scene->fake.bytes = NULL;
    fact = read_log(scene, 0, 65536, 0);
    assert_int_equal(fact.size, 65536);
    assert_false(fact.complete);
    fact = read_log(scene, 196608, 65536, 0);
    assert_int_equal(fact.size, 200000 - 196608);
    assert_int_equal(fact.bytes[fact.size - 1], 'y');
    assert_true(fact.complete);
    assert_false(fact.truncated);
    free(text);
}

static void
a_reader_goes_on_where_it_was_when_the_instance_goes(void **state)
{
    struct scene *scene = *state;
    struct report_log fact;
    struct error err;

    scene->fake.bytes = "one\ntwo\nthree\n";
    scene->fake.size = 14;
    fact = read_log(scene, 0, 4, 0);
    assert_memory_equal(fact.bytes, "one\n", 4);
    assert_int_equal(fact.next, 4);
    fact = read_log(scene, 4, 4, 0);
    assert_memory_equal(fact.bytes, "two\n", 4);
    scene->fake.ended = true;
    assert_int_equal(logs_keep(scene->logs, "in_a", 1, &err), 0);
    scene->fake.bytes = NULL;
    fact = read_log(scene, fact.next, 100, 0);
    assert_int_equal(fact.size, 6);
    assert_memory_equal(fact.bytes, "three\n", 6);
    assert_true(fact.complete);
    assert_int_equal(read_log(scene, 14, 100, 0).next, 14);
}

static void
a_reader_may_begin_anywhere(void **state)
{
    struct scene *scene = *state;
    struct report_log fact;

    scene->fake.bytes = "one\ntwo\nthree\n";
    scene->fake.size = 14;
    fact = read_log(scene, 9, 2, 0);
    assert_int_equal(fact.size, 1);
    assert_memory_equal(fact.bytes, "h", 1);
    fact = read_log(scene, fact.next, 100, 0);
    assert_memory_equal(fact.bytes, "ree\n", 4);
    fact = read_log(scene, 1, 100, 0);
    assert_int_equal(fact.size, 13);
    assert_memory_equal(fact.bytes, "ne\n", 3);
}

static void
a_log_that_is_neither_there_nor_kept_says_so(void **state)
{
    struct scene *scene = *state;
    struct report_log fact = read_log(scene, 0, 100, 0);

    assert_string_not_equal(fact.failure, "");
    assert_int_equal(fact.request, 4);
}

static void
a_read_waits_for_the_first_byte(void **state)
{
    struct scene *scene = *state;
    struct report_log fact;

    scene->fake.bytes = "late";
    scene->fake.size = 4;
    scene->fake.quiet = 2;
    fact = read_log(scene, 0, 100, 5000);
    assert_int_equal(fact.size, 4);
    scene->fake.quiet = 1000000;
    fact = read_log(scene, 4, 100, 150);
    assert_int_equal(fact.size, 0);
    assert_string_equal(fact.failure, "");
    assert_int_equal(fact.next, 4);
}

static void
an_offset_behind_the_end_gives_nothing(void **state)
{
    struct scene *scene = *state;
    struct report_log fact;
    struct error err;

    scene->fake.bytes = "abc";
    scene->fake.size = 3;
    scene->fake.ended = true;
    assert_int_equal(logs_keep(scene->logs, "in_a", 1, &err),
                     0);
    scene->fake.bytes = NULL;
    fact = read_log(scene, 1000, 100, 0);
    assert_int_equal(fact.size, 0);
    assert_true(fact.complete);
}

static void
an_id_that_is_a_path_is_refused(void **state)
{
    struct scene *scene = *state;
    struct error err;

    scene->fake.bytes = "abc";
    scene->fake.size = 3;
    assert_int_equal(logs_keep(scene->logs, "../in_a", 1, &err),
                     -1);
    assert_int_equal(count_files(scene, false), 0);
}

static void
only_the_newest_logs_are_kept(void **state)
{
    struct scene *scene = *state;
    struct error err;

    scene->fake.bytes = "abc";
    scene->fake.size = 3;
    scene->fake.ended = true;
    for (int i = 0; i < LOGS_KEPT; i++) {
        char path[128];
        FILE *file;

        (void)snprintf(path, sizeof(path), "%s/in_%d.1", scene->directory, i);
        file = fopen(path, "w");
        assert_non_null(file);
        (void)fclose(file);
    }
    (void)usleep(20000);
    assert_int_equal(logs_keep(scene->logs, "in_a", 1, &err),
                     0);
    assert_int_equal(count_files(scene, false), LOGS_KEPT);
    scene->fake.bytes = NULL;
    assert_int_equal(read_log(scene, 0, 100, 0).size, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_log_is_whole_after_its_instance_is_gone),
        TEST(a_reader_goes_on_where_it_was_when_the_instance_goes),
        TEST(a_reader_may_begin_anywhere),
        TEST(a_log_that_is_neither_there_nor_kept_says_so),
        TEST(a_read_waits_for_the_first_byte),
        TEST(an_offset_behind_the_end_gives_nothing),
        TEST(an_id_that_is_a_path_is_refused),
        TEST(only_the_newest_logs_are_kept),
    };

    return cmocka_run_group_tests_name("logs", tests, NULL, NULL);
}
