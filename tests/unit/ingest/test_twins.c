/*
 * The plugin's Inspector lines next to its Chrome trace: skipped if the trace contains more, and only then.
 */
#include "base/base.h"
#include "ingest/ingest.h"
#include "input/input.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char chrome[] =
    "[\n{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 0, \"pid\": 500, \"tid\": 1, "
    "\"ts\": 5110.000000, \"args\": {\"SeqNum\": 0, \"CommHash\": 7, \"Rank\": 0, \"Count\": 4096, "
    "\"Datatype\": \"ncclFloat32\", \"Algorithm\": \"RING\", \"Protocol\": \"SIMPLE\", \"nChannels\": 2}},\n";
#define LINES_OF(writer)                                                               \
    "{\"header\":{\"id\":\"0x7\",\"rank\":0,\"n_ranks\":2,\"nnodes\":1},"              \
    "\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"" writer \
    "\",\"hostname\":\"node0\",\"pid\":500},\"coll_perf\":{\"coll\":\""                \
    "AllReduce\",\"coll_sn\":0,\"coll_msg_size_bytes\":4096}}\n"
static const char ours[] = LINES_OF("ncclprof-0.1.0");
static const char nvidias[] = LINES_OF("v2.30.7");

static char top[] = "/tmp/ncclprof-twins-XXXXXX";
static const char *const names[] = {"0.json", "0.jsonl", "0.json.gz", "0.jsonl.gz", "1.json", "1.jsonl"};
static const struct known nothing = {.files = NULL};

static int build(void **state)
{
    return mkdtemp(top) && chdir(top) == 0 ? 0 : -1;
}

static int remove_files(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    return 0;
}

static int clean(void **state)
{
    return rmdir(top);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static struct walk walk_of(const char *const *paths, size_t count)
{
    struct walk walk;
    walk_init(&walk);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(walk_add(&walk, paths[i], NULL), 0);
    return walk;
}

static size_t left_out(struct walk *walk, const struct known *known)
{
    size_t count;
    struct error error = ERROR_INIT;
    assert_int_equal(drop_second_formats(walk, known, &count, &error), 0);
    assert_int_equal(error.depth, 0);
    return count;
}

/* For a folder with everything that a test has written. */
static size_t left_out_of_folder(void)
{
    static const char *const here[] = {"."};
    struct walk walk = walk_of(here, 1);
    size_t before = walk.count, count = left_out(&walk, &nothing);
    assert_int_equal(walk.count, before - count);
    for (size_t i = 0; i < walk.count && count; i++)
        assert_null(strstr(walk.files[i].path, ".jsonl"));
    /* The caller must know that the folder is not without traces. */
    assert_int_equal(walk.starts[0].has_known, count > 0);
    walk_release(&walk);
    return count;
}

static void lines_beside_a_trace_are_left_out(void **state)
{
    write_file("0.json", chrome);
    write_file("0.jsonl", ours);
    assert_int_equal(left_out_of_folder(), 1);
}

/* The suffix of a name does not decide whether a file is compressed. */
static void packed_or_not(void **state)
{
    static const char *const pairs[][2] = {
        {"0.json", "0.jsonl.gz"}, {"0.json.gz", "0.jsonl"}, {"0.json.gz", "0.jsonl.gz"}};
    for (size_t i = 0; i < 3; i++) {
        write_file(pairs[i][0], chrome);
        write_file(pairs[i][1], ours);
        assert_int_equal(left_out_of_folder(), 1);
        remove_files(NULL);
    }
}

/* NVIDIA's Inspector has no such mark. */
static void lines_of_others_stay(void **state)
{
    write_file("0.json", chrome);
    write_file("0.jsonl", nvidias);
    assert_int_equal(left_out_of_folder(), 0);
}

static void lines_beside_no_trace_stay(void **state)
{
    write_file("0.jsonl", ours);
    assert_int_equal(left_out_of_folder(), 0);
    write_file("1.json", chrome); /* of another rank */
    assert_int_equal(left_out_of_folder(), 0);
    write_file("0.json", "");
    assert_int_equal(left_out_of_folder(), 0);
    write_file("0.json", "[\n{\"name\": \"AllRe"); /* truncated at the beginning */
    assert_int_equal(left_out_of_folder(), 0);
}

static void each_rank_has_its_own(void **state)
{
    write_file("0.json", chrome);
    write_file("0.jsonl", ours);
    write_file("1.json", chrome);
    write_file("1.jsonl", ours);
    assert_int_equal(left_out_of_folder(), 2);
}

/* A trace next to the lines that was not requested. */
static void only_what_comes_in_counts(void **state)
{
    static const char *const lines[] = {"0.jsonl"};
    write_file("0.json", chrome);
    write_file("0.jsonl", ours);
    struct walk walk = walk_of(lines, 1);
    assert_int_equal(left_out(&walk, &nothing), 0);
    assert_int_equal(walk.count, 1);

    struct known_file file = {.path = realpath("0.json", NULL)};
    const struct known known = {.files = &file, .count = 1};
    assert_non_null(file.path);
    assert_int_equal(left_out(&walk, &known), 1);
    assert_int_equal(walk.count, 0);
    free(file.path);
    walk_release(&walk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lines_beside_a_trace_are_left_out, remove_files),
        cmocka_unit_test_teardown(packed_or_not, remove_files),
        cmocka_unit_test_teardown(lines_of_others_stay, remove_files),
        cmocka_unit_test_teardown(lines_beside_no_trace_stay, remove_files),
        cmocka_unit_test_teardown(each_rank_has_its_own, remove_files),
        cmocka_unit_test_teardown(only_what_comes_in_counts, remove_files),
    };
    return cmocka_run_group_tests_name("twins", tests, build, clean);
}
