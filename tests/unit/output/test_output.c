#include "base/base.h"
#include "output/internal.h"
#include "output/output.h"

#include "support/cmocka_all.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64];
static char path[96];

static int make_folder(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/ncclprof-output-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int remove_folder(void **state)
{
    char name[512];
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        unlink(name);
    }
    if (directory)
        closedir(directory);
    return rmdir(folder);
}

/* The number of files in the folder, including hidden ones. */
static int count_files(void)
{
    int count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static void assert_content(const char *expected)
{
    char content[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(content, 1, sizeof content - 1, file);
    fclose(file);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(content, expected);
}

static void write_text(const char *name, const char *text)
{
    struct output *output = output_open(name, OUTPUT_PLAIN, NULL);
    assert_non_null(output);
    assert_int_equal(output_text(output, text, NULL), 0);
    assert_int_equal(output_bytes(output), strlen(text));
    assert_int_equal(output_close(output, NULL), 0);
}

static void a_file_takes_its_name_when_it_is_whole(void **state)
{
    write_text(path, "before");
    struct output *output = output_open(path, OUTPUT_PLAIN, NULL);
    assert_non_null(output);
    assert_int_equal(output_printf(output, NULL, "%s and %d", "after", 7), 0);
    assert_content("before");
    assert_int_equal(output_close(output, NULL), 0);
    assert_content("after and 7");
    assert_int_equal(count_files(), 1);
}

static void a_discarded_file_leaves_what_was_there(void **state)
{
    write_text(path, "before");
    struct output *output = output_open(path, OUTPUT_PLAIN, NULL);
    assert_int_equal(output_text(output, "after", NULL), 0);
    output_discard(output);
    assert_content("before");
    assert_int_equal(count_files(), 1);
    output_discard(NULL);
}

static void a_symbolic_link_and_a_mode_stay(void **state)
{
    char link[96];
    struct stat status;
    write_text(path, "before");
    assert_int_equal(chmod(path, 0640), 0);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("file", link), 0);
    write_text(link, "after");
    assert_content("after");
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
}

/* As on a full disk, at byte counts that no buffer holds back. */
static void a_failed_write_leaves_what_was_there(void **state)
{
    static char bytes[400 * 1000];
    struct error error = ERROR_INIT;
    struct rlimit before, small;
    write_text(path, "before");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 1000, .rlim_max = before.rlim_max};
    struct output *output = output_open(path, OUTPUT_PLAIN, NULL);
    assert_non_null(output);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int written = output_write(output, bytes, sizeof bytes, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(written, -1);
    assert_non_null(strstr(error.cause[0], path));
    output_discard(output);
    assert_content("before");
    assert_int_equal(count_files(), 1);
}

static void a_full_device_is_told_when_it_is_closed(void **state)
{
    struct error error = ERROR_INIT;
    struct output *output = output_open("/dev/full", OUTPUT_PLAIN, &error);
    assert_non_null(output);
    assert_int_equal(output_text(output, "text", &error), 0);
    assert_int_equal(output_close(output, &error), -1);
    assert_non_null(strstr(error.cause[0], "/dev/full"));
}

static void what_cannot_be_written_is_refused(void **state)
{
    struct error error = ERROR_INIT;
    char name[128];
    assert_null(output_open(folder, OUTPUT_PLAIN, &error));
    assert_non_null(strstr(error.cause[0], "is a directory"));
    snprintf(name, sizeof name, "%s/nowhere/file", folder);
    assert_null(output_open(name, OUTPUT_PLAIN, &error));
    assert_non_null(strstr(error.cause[0], name));
    assert_int_equal(count_files(), 0);
}

/* As SQLite writes. */
static void a_file_may_be_written_at_any_place(void **state)
{
    struct error error = ERROR_INIT;
    char read[4] = "";
    struct output *output = output_open(path, OUTPUT_BY_DESCRIPTOR, NULL);
    assert_non_null(output);
    assert_int_equal(pwrite(output_descriptor(output), "place", 5, 3), 5);
    assert_int_equal(pwrite(output_descriptor(output), "at ", 3, 0), 3);
    assert_int_equal(pread(output_descriptor(output), read, 3, 3), 3);
    assert_string_equal(read, "pla");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(output_close(output, NULL), 0);
    assert_content("at place");
    output = output_open(path, OUTPUT_BY_DESCRIPTOR, NULL);
    output_discard(output);
    assert_content("at place");
    assert_int_equal(count_files(), 1);
    assert_null(output_open("-", OUTPUT_BY_DESCRIPTOR, &error));
    assert_null(output_open("/dev/null", OUTPUT_BY_DESCRIPTOR, &error));
}

/* More than the buffers hold, so that the stream is written in parts; zlib reads it for comparison. */
static void gzip_unpacks_to_what_was_written(void **state)
{
    enum { NUMBERS = 300 * 1000 };
    struct output *output = output_open(path, OUTPUT_GZIP, NULL);
    assert_non_null(output);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        uint32_t number = i * UINT32_C(2654435761);
        assert_int_equal(output_write(output, &number, sizeof number, NULL), 0);
    }
    assert_int_equal(output_bytes(output), NUMBERS * sizeof(uint32_t));
    assert_int_equal(output_close(output, NULL), 0);
    gzFile file = gzopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(gzdirect(file), 0);
    uint32_t number;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        assert_int_equal(gzread(file, &number, sizeof number), sizeof number);
        assert_int_equal(number, i * UINT32_C(2654435761));
    }
    assert_int_equal(gzread(file, &number, sizeof number), 0);
    assert_int_equal(gzclose(file), Z_OK);
}

static void a_long_text_is_printed_whole(void **state)
{
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct output *output = output_open(path, OUTPUT_PLAIN, NULL);
    assert_int_equal(output_printf(output, NULL, "<%s>", text), 0);
    assert_int_equal(output_bytes(output), sizeof text - 1 + 2);
    assert_int_equal(output_close(output, NULL), 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, sizeof text - 1 + 2);
}

/* For files that get their names together: little is left to do then. */
static void flushed_bytes_are_in_the_file(void **state)
{
    struct stat status;
    struct output *output = output_open(path, OUTPUT_PLAIN, NULL);
    assert_non_null(output);
    assert_int_equal(output_write(output, "kept", 4, NULL), 0);
    assert_int_equal(output_flush(output, NULL), 0);
    assert_int_equal(fstat(output_descriptor(output), &status), 0);
    assert_int_equal(status.st_size, 4);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(output_write(output, ", and more", 10, NULL), 0);
    assert_int_equal(output_close(output, NULL), 0);
    assert_content("kept, and more");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_takes_its_name_when_it_is_whole),
        TEST(a_discarded_file_leaves_what_was_there),
        TEST(a_symbolic_link_and_a_mode_stay),
        TEST(a_failed_write_leaves_what_was_there),
        TEST(a_full_device_is_told_when_it_is_closed),
        TEST(what_cannot_be_written_is_refused),
        TEST(a_file_may_be_written_at_any_place),
        TEST(gzip_unpacks_to_what_was_written),
        TEST(a_long_text_is_printed_whole),
        TEST(flushed_bytes_are_in_the_file),
    };
    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
