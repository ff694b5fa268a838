/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/unit/scratch.h"

static char folder[] = "/tmp/test_file.XXXXXX";

static const char *
at(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void
put(const char *name, const char *text)
{
    struct error err;

    assert_int_equal(file_write(at(name), text, strlen(text), 0600, &err), 0);
}

static void
assert_content(const char *name, const char *text)
{
    scoped_buffer content = { 0 };
    struct error err;

    assert_int_equal(file_read(at(name), 1000, &content, &err), 0);
    assert_string_equal(buffer_text(&content), text);
}

static unsigned
count_files(void)
{
    DIR *directory = opendir(folder);
    unsigned count = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    (void)closedir(directory);
    return count - 2;
}

static void
a_file_is_read_whole_up_to_its_bound(void **state)
{
    scoped_buffer content = { 0 };
    struct error err = { 0 };

    (void)state;
    put("ten", "0123456789");
    buffer_add_text(&content, ">");
    assert_int_equal(file_read(at("ten"), 10, &content, &err), 0);
    assert_string_equal(content.bytes, ">0123456789");
    assert_int_equal(file_read(at("ten"), 9, &content, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_int_equal(file_read(at("none"), 9, &content, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(file_read(folder, 9, &content, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_null(strstr(err.text, folder));
    /* What failed added nothing. */
    assert_string_equal(content.bytes, ">0123456789");
    put("empty", "");
    assert_int_equal(file_read(at("empty"), 0, &content, &err), 0);
    assert_string_equal(content.bytes, ">0123456789");
}

static void
writing_replaces_the_whole_file_and_leaves_nothing_beside_it(void **state)
{
    struct stat status;
    struct error err = { 0 };
    unsigned before;

    (void)state;
    put("state", "a long first content");
    before = count_files();
    assert_int_equal(file_write(at("state"), "short", 5, 0640, &err), 0);
    assert_content("state", "short");
    assert_int_equal(count_files(), before);
    assert_int_equal(stat(at("state"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
}

/* A reader that has the old file open keeps it whole: it is replaced by a
 * rename, not written over. */
static void
an_open_reader_keeps_the_old_content(void **state)
{
    char text[8] = { 0 };
    struct error err;
    scoped_fd fd = -1;

    (void)state;
    put("state", "old one");
    fd = open(at("state"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    put("state", "new one");
    assert_int_equal(file_read_all(fd, text, 7, &err), 0);
    assert_string_equal(text, "old one");
    assert_content("state", "new one");
}

static void
a_failed_write_keeps_the_old_file_and_cleans_up(void **state)
{
    struct error err = { 0 };
    unsigned before;

    (void)state;
    (void)mkdir(at("taken"), 0700);
    put("taken/in", "x");
    before = count_files();
    assert_int_equal(file_write(at("taken"), "text", 4, 0600, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_int_equal(count_files(), before);
    assert_content("taken/in", "x");
    assert_int_equal(file_write(at("no/folder"), "x", 1, 0600, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void
directories_are_made_with_their_parents(void **state)
{
    struct error err = { 0 };
    struct stat status;

    (void)state;
    assert_int_equal(file_make_directory(at("a/b//c/"), 0750, &err), 0);
    assert_int_equal(stat(at("a/b/c"), &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    assert_int_equal(chmod(at("a/b"), 0700), 0);
    assert_int_equal(file_make_directory(at("a/b/d"), 0755, &err), 0);
    assert_int_equal(stat(at("a/b"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(file_make_directory("/", 0755, &err), 0);
}

static void
a_directory_is_not_made_where_a_file_is(void **state)
{
    struct error err = { 0 };

    (void)state;
    put("plain", "x");
    assert_int_equal(file_make_directory(at("plain"), 0700, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_int_equal(file_make_directory(at("plain/x"), 0700, &err), -1);
    assert_int_equal(file_make_directory("", 0700, &err), -1);
}

static int
open_beneath(const char *path, int flags)
{
    struct error err = { 0 };
    scoped_fd root = open(at("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    scoped_fd fd = file_open_beneath(root, path, flags, 0600, &err);

    assert_true(root >= 0);
    if (fd < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
    else
        assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    return fd < 0 ? -1 : 0;
}

/* A tenant owns root/ and makes links in it; whatever they are, the platform
 * opens nothing outside and nothing through them. */
static void
opening_beneath_stays_beneath(void **state)
{
    static const char *const traps[] = {
        "../outside", "dir/../../outside", "..",   "/etc/passwd",
        "absolute",   "relative",          "loop", "link/inner",
        "within",     "link/",             "dir/../link/inner",
    };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(file_make_directory(at("root/dir"), 0700, &err), 0);
    put("outside", "secret");
    put("root/dir/inner", "own");
    assert_int_equal(symlink("/etc/passwd", at("root/absolute")), 0);
    assert_int_equal(symlink("../outside", at("root/relative")), 0);
    assert_int_equal(symlink("loop", at("root/loop")), 0);
    assert_int_equal(symlink("dir", at("root/link")), 0);
    assert_int_equal(symlink("dir/inner", at("root/within")), 0);
    for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++) {
        assert_int_equal(open_beneath(traps[i], O_RDONLY), -1);
        assert_int_equal(open_beneath(traps[i], O_WRONLY | O_TRUNC), -1);
        assert_int_equal(open_beneath(traps[i], O_RDWR | O_CREAT), -1);
    }
    assert_content("outside", "secret");
    assert_content("root/dir/inner", "own");
    assert_int_equal(open_beneath("dir/inner", O_RDONLY), 0);
    assert_int_equal(open_beneath("dir/../dir/inner", O_RDONLY), 0);
    assert_int_equal(open_beneath("dir/new", O_WRONLY | O_CREAT), 0);
    assert_int_equal(access(at("root/dir/new"), F_OK), 0);
    assert_int_equal(open_beneath("none", O_RDONLY), -1);
}

static void
links_of_proc_are_not_followed(void **state)
{
    struct error err = { 0 };
    scoped_fd proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    assert_true(proc >= 0);
    assert_int_equal(file_open_beneath(proc, "root", O_RDONLY, 0, &err), -1);
    assert_int_equal(file_open_beneath(proc, "root/etc/passwd", O_RDONLY, 0,
                                       &err),
                     -1);
    assert_int_equal(file_open_beneath(proc, "fd/0", O_RDONLY, 0, &err), -1);
}

static void
pipes_are_read_and_written_whole(void **state)
{
    static char sent[200000], got[200000];
    struct error err = { 0 };
    int ends[2];
    pid_t child;

    (void)state;
    for (size_t i = 0; i < sizeof(sent); i++)
        sent[i] = (char)(i * 7);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        _exit(file_write_all(ends[1], sent, sizeof(sent), &err) == 0 ? 0 : 1);
    }
    (void)close(ends[1]);
    assert_int_equal(file_read_all(ends[0], got, sizeof(got), &err), 0);
    assert_memory_equal(sent, got, sizeof(got));
    assert_int_equal(file_read_all(ends[0], got, 1, &err), -1);
    (void)close(ends[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole_up_to_its_bound),
        cmocka_unit_test(
            writing_replaces_the_whole_file_and_leaves_nothing_beside_it),
        cmocka_unit_test(an_open_reader_keeps_the_old_content),
        cmocka_unit_test(a_failed_write_keeps_the_old_file_and_cleans_up),
        cmocka_unit_test(directories_are_made_with_their_parents),
        cmocka_unit_test(a_directory_is_not_made_where_a_file_is),
        cmocka_unit_test(opening_beneath_stays_beneath),
        cmocka_unit_test(links_of_proc_are_not_followed),
        cmocka_unit_test(pipes_are_read_and_written_whole),
    };
    int failed;

    if (mkdtemp(folder) == NULL)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_remove(folder);
    return failed;
}
