/* Where files are split: parts are adjacent, begin with a line, and depend only on the content. */
#include "support/cmocka_all.h"

/* The parts of the program are too long for a test: this is the same source with shorter ones. */
#define PART_BYTES (UINT64_C(16) << 10)
#include "base/base.h"
#include "format/format.h"
#include "ingest/file.c"
#include "ingest/ingest.h"
#include "ingest/internal.h"
#include "input/input.h"
#include "store/store.h"

#include <stdio.h>
#include <unistd.h>

extern const struct format format_inspector;

/* A line of Inspector, always of the same length. */
static const char line_format[] =
    "{\"header\":{\"id\":\"0xa6\",\"rank\":0,\"n_ranks\":2,\"nnodes\":1},\"metadata\":{"
    "\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"\",\"dump_timestamp_us\":1700000000000000,"
    "\"hostname\":\"node0\",\"pid\":100},\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%8d,"
    "\"coll_msg_size_bytes\":4096,\"coll_exec_time_us\":10,\"coll_timing_source\":\"kernel_gpu\","
    "\"coll_algobw_gbs\":1.0,\"coll_busbw_gbs\":1.0}}\n";

enum { LINES = 400 };

static char top[] = "/tmp/ncclprof-parts-XXXXXX";

static int build(void **state)
{
    return mkdtemp(top) && chdir(top) == 0 ? 0 : -1;
}

static int clean(void **state)
{
    unlink("log");
    unlink("other");
    return rmdir(top);
}

/* The length of a line. */
static uint64_t write_lines(const char *path, int count)
{
    FILE *file = fopen(path, "w");
    int length = 0;
    assert_non_null(file);
    for (int i = 0; i < count; i++)
        length = fprintf(file, line_format, i);
    assert_int_equal(fclose(file), 0);
    return (uint64_t)length;
}

static int never(void *context)
{
    return 0;
}

static int always(void *context)
{
    return 1;
}

static const struct known nothing = {.files = NULL};

static struct ingest asked(void)
{
    return (struct ingest){.known = &nothing, .hooks = {.interrupted = never}};
}

static struct parts plan(const struct ingest *ingest, const char *const *paths, size_t count)
{
    struct parts parts;
    struct walk walk;
    walk_init(&walk);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(walk_add(&walk, paths[i], NULL), 0);
    assert_int_equal(walk.count, count);
    assert_int_equal(parts_plan(&parts, &walk, ingest, NULL), 0);
    walk_release(&walk);
    return parts;
}

static struct parts plan_log(const struct ingest *ingest)
{
    static const char *const paths[] = {"log"};
    return plan(ingest, paths, 1);
}

static void assert_in_one(const struct ingest *ingest)
{
    struct parts parts = plan_log(ingest);
    assert_int_equal(parts.count, 1);
    assert_int_equal(parts.items[0].count, 1);
    assert_int_equal(parts.items[0].begin, 0);
    parts_release(&parts);
}

static void a_great_file_is_cut_between_lines(void **state)
{
    uint64_t line = write_lines("log", LINES), size = LINES * line;
    struct ingest ingest = asked();
    struct parts parts = plan_log(&ingest);
    /* Each part has the length of a part, except the last, which may be up to twice as long. */
    assert_int_equal(parts.count, size / PART_BYTES);
    assert_int_equal(parts.items[0].begin, 0);
    for (size_t i = 0; i < parts.count; i++) {
        const struct part *part = &parts.items[i];
        assert_int_equal(part->first, 0);
        assert_int_equal(part->count, parts.count);
        assert_int_equal(part->size, size);
        assert_string_equal(part->format->name, "inspector");
        assert_int_equal(part->begin % line, 0);
        assert_int_equal(part->end, i + 1 < parts.count ? parts.items[i + 1].begin : size);
        /* The first possible place from there on: a complete line comes before it. */
        assert_true(part->begin >= i * PART_BYTES);
        assert_true(part->begin <= i * PART_BYTES + 2 * line);
    }
    parts_release(&parts);
}

static void a_smaller_one_is_not(void **state)
{
    uint64_t line = write_lines("log", 1);
    struct ingest ingest = asked();
    write_lines("log", (int)(2 * PART_BYTES / line));
    assert_in_one(&ingest);
    write_lines("log", (int)(2 * PART_BYTES / line) + 1);
    struct parts parts = plan_log(&ingest);
    assert_int_equal(parts.count, 2);
    parts_release(&parts);
}

/* Records are numbered by their position: the same content must give the same numbers. */
static void the_content_alone_decides(void **state)
{
    static const char *const paths[] = {"log", "other"};
    write_lines("log", LINES);
    write_lines("other", LINES);
    struct ingest ingest = asked();
    struct parts parts = plan(&ingest, paths, 2);
    size_t half = parts.count / 2;
    assert_int_equal(parts.count, 2 * half);
    for (size_t i = 0; i < half; i++) {
        assert_int_equal(parts.items[i].file, 0);
        assert_int_equal(parts.items[half + i].file, 1);
        assert_int_equal(parts.items[half + i].first, half);
        assert_int_equal(parts.items[half + i].count, half);
        assert_int_equal(parts.items[i].begin, parts.items[half + i].begin);
    }
    parts_release(&parts);
}

/* One line as long as the file. */
static void what_cannot_be_cut_stays_whole(void **state)
{
    FILE *file = fopen("log", "w");
    assert_non_null(file);
    fprintf(file, line_format, 0);
    assert_int_equal(fseek(file, (long)(8 * PART_BYTES), SEEK_SET), 0);
    fputs("}", file);
    assert_int_equal(fclose(file), 0);
    struct ingest ingest = asked();
    assert_in_one(&ingest);
}

static void what_is_no_trace_stays_whole(void **state)
{
    FILE *file = fopen("log", "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < 4 * PART_BYTES; i += 16)
        fputs("no trace at all\n", file);
    assert_int_equal(fclose(file), 0);
    struct ingest ingest = asked();
    assert_in_one(&ingest);
}

/* Opening and closing the store would drop its locks. */
static void the_store_is_not_looked_into(void **state)
{
    struct stat status;
    write_lines("log", LINES);
    assert_int_equal(stat("log", &status), 0);
    struct ingest ingest = asked();
    ingest.store_device = status.st_dev;
    ingest.store_inode = status.st_ino;
    assert_in_one(&ingest);
}

/* The present entry of the store for the log at its real path. */
static struct known_file known_log(char **path)
{
    struct known_file file = {.bytes = LINES * write_lines("log", LINES)};
    struct digest digest;
    size_t length = (size_t)file.bytes;
    char *bytes = malloc(length);
    FILE *stream = fopen("log", "r");
    assert_non_null(bytes);
    assert_non_null(stream);
    assert_int_equal(fread(bytes, 1, length, stream), length);
    fclose(stream);
    digest_init(&digest);
    digest_update(&digest, bytes, length);
    digest_hex(&digest, file.digest);
    free(bytes);
    *path = file.path = realpath("log", NULL);
    assert_non_null(file.path);
    return file;
}

static void known_content_is_not_cut(void **state)
{
    char *path;
    static char reader[] = "inspector";
    struct known_file file = known_log(&path);
    file.reader = reader;
    file.reader_version = format_inspector.version;
    const struct known known = {.files = &file, .count = 1};
    struct ingest ingest = asked();
    ingest.known = &known;
    struct parts parts = plan_log(&ingest);
    assert_int_equal(parts.count, 1);
    assert_ptr_equal(parts.items[0].known, &file);
    parts_release(&parts);

    file.reader_version--;
    parts = plan_log(&ingest);
    assert_true(parts.count > 1);
    assert_null(parts.items[0].known);
    parts_release(&parts);
    file.reader_version++;

    ingest.force = 1;
    parts = plan_log(&ingest);
    assert_true(parts.count > 1);
    assert_null(parts.items[0].known);
    parts_release(&parts);
    free(path);
}

/* The user need not wait until large files have been read for their digests. */
static void nothing_is_known_once_interrupted(void **state)
{
    char *path;
    struct known_file file = known_log(&path);
    const struct known known = {.files = &file, .count = 1};
    struct ingest ingest = asked();
    ingest.known = &known;
    ingest.hooks.interrupted = always;
    struct parts parts = plan_log(&ingest);
    assert_null(parts.items[0].known);
    parts_release(&parts);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_great_file_is_cut_between_lines),
        cmocka_unit_test(a_smaller_one_is_not),
        cmocka_unit_test(the_content_alone_decides),
        cmocka_unit_test(what_cannot_be_cut_stays_whole),
        cmocka_unit_test(what_is_no_trace_stays_whole),
        cmocka_unit_test(the_store_is_not_looked_into),
        cmocka_unit_test(known_content_is_not_cut),
        cmocka_unit_test(nothing_is_known_once_interrupted),
    };
    return cmocka_run_group_tests_name("parts", tests, build, clean);
}
