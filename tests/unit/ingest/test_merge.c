#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "base/base.h"
#include "ingest/ingest.h"
#include "model/model.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than can be open at the same time. */
enum { SHARDS = 70 };

static const struct interval_ns UNKNOWN = {TIME_UNKNOWN, TIME_UNKNOWN};

static char paths[SHARDS][256];
static char *operands[SHARDS];

static int setup(void **state)
{
    if (store_file_setup(state))
        return -1;
    for (int i = 0; i < SHARDS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s-%d", (const char *)*state, i);
        operands[i] = paths[i];
    }
    return 0;
}

static int teardown(void **state)
{
    for (int i = 0; i < SHARDS; i++)
        unlink(paths[i]);
    return store_file_teardown(state);
}

struct filling {
    struct writer *writer;
    struct writer_file file;
};

static int hand_on(void *context, struct batch **batch, struct error *error)
{
    struct filling *filling = context;
    assert_int_equal(writer_put(filling->writer, &filling->file, *batch, error), 0);
    batch_clear(*batch);
    return 0;
}

/* One operation of rank `rank`, as one after the first part of a large file. */
static void write_file(struct writer *writer, int rank, const char *path, const char *digest,
                       int64_t first_ordinal)
{
    struct filling filling = {.writer = writer};
    struct intake intake;
    struct batch batch;
    batch_init(&batch);
    intake_init(&intake, &batch, hand_on, &filling);
    assert_int_equal(writer_begin(writer, &filling.file, 0, first_ordinal, path, "/traces", NULL), 0);
    const struct event event = {
        .kind = EVENT_OPERATION,
        .origin = {.host = "node", .pid = 100 + rank, .communicator_hash = 77, .rank = rank},
        .operation = {.ordinal = 3,
                      .function = FUNCTION_ALL_REDUCE,
                      .sequence = 0,
                      .count = 1,
                      .datatype = DATATYPE_FLOAT32,
                      .bytes = 4,
                      .root = COUNT_UNKNOWN,
                      .peer = COUNT_UNKNOWN,
                      .api = UNKNOWN,
                      .enqueue = {1000, 1010},
                      .device = UNKNOWN,
                      .gpu_begin = UINT64_MAX,
                      .duration_ns = COUNT_UNKNOWN}};
    assert_int_equal(intake_event(&intake, &event, NULL), 0);
    assert_int_equal(intake_end(&intake, NULL), 0);
    const struct writer_facts facts = {.dialect = "chrome-v5",
                                       .digest = digest,
                                       .bytes = 9,
                                       .unpacked_bytes = 9,
                                       .events = 1,
                                       .ledger = &intake.ledger};
    enum writer_outcome outcome;
    assert_int_equal(writer_finish(writer, &filling.file, &facts, &outcome, NULL), 0);
    intake_release(&intake);
    batch_release(&batch);
}

/* Shard `number` of SHARDS with one file; the paths of the first shard come last. */
static void make_shard(int number)
{
    char path[64], digest[64], none[] = "", host[] = "node";
    const struct shard self = {
        .job = none, .number = number, .count = SHARDS, .host = host, .path = none, .state = SHARD_WHOLE};
    struct store *store = store_open(paths[number], STORE_CREATE, NULL);
    assert_non_null(store);
    assert_int_equal(store_execute(store, "PRAGMA synchronous=OFF", NULL), 0);
    struct writer *writer = writer_new(store, NULL);
    assert_non_null(writer);
    snprintf(path, sizeof path, "/traces/%02d", SHARDS - number);
    snprintf(digest, sizeof digest, "digest %d", number);
    write_file(writer, number, path, digest, 1 << 20);
    assert_int_equal(writer_commit(writer, NULL), 0);
    writer_free(writer);
    assert_int_equal(shard_write_self(store, &self, NULL), 0);
    store_close(store);
}

/* The caller of the merge, which stops it after this many files. */
struct listener {
    size_t most;
    size_t told;
    size_t taken;
    size_t failed;
};

static int interrupted(void *context)
{
    const struct listener *listener = context;
    return listener->told >= listener->most;
}

static void progress(void *context, size_t files, uint64_t bytes)
{
}

static void tell(void *context, const struct file_result *result)
{
    struct listener *listener = context;
    listener->told++;
}

static int take(void *context, struct file_result *result, struct error *error)
{
    struct listener *listener = context;
    listener->taken++;
    listener->failed += result->status == FILE_FAILED;
    return 0;
}

static int merge_all(void **state, struct listener *listener, size_t shards)
{
    struct store *store = access(*state, F_OK) ? NULL : store_file_open(state, STORE_CREATE);
    struct merge merge = {.hooks = {.context = listener,
                                    .interrupted = interrupted,
                                    .progress = progress,
                                    .tell = tell,
                                    .take = take}};
    struct error error = ERROR_INIT;
    assert_int_equal(merge_plan_make(&merge.plan, operands, shards, *state, &error), 0);
    int outcome = merge_run(&merge, &store, *state, &error);
    merge_plan_release(&merge.plan);
    store_close(store);
    return outcome;
}

static int64_t number(void **state, const char *sql)
{
    struct store *store = store_file_open(state, STORE_READ);
    int64_t value = store_file_number(store, sql);
    store_close(store);
    return value;
}

/* Files are numbered by path, whichever shard has them; records keep their place in their file. */
static void test_many_shards(void **state)
{
    struct listener listener = {.most = SIZE_MAX};
    for (int i = 0; i < SHARDS; i++)
        make_shard(i);
    assert_int_equal(merge_all(state, &listener, SHARDS), 0);
    assert_int_equal(listener.taken, SHARDS);
    assert_int_equal(listener.failed, 0);
    assert_int_equal(number(state, "SELECT count(*) FROM file WHERE printf('/traces/%02d', file_id) = path"),
                     SHARDS);
    assert_int_equal(
        number(state, "SELECT count(*) FROM operation_block WHERE block_id & 4294967295 = 1048579"), SHARDS);
    assert_int_equal(number(state,
                            "SELECT count(*) FROM operation_block JOIN member USING (member_id)"
                            " JOIN process USING (process_id) JOIN file ON file_id = block_id >> 32"
                            " WHERE pid = 100 + rank AND digest = 'digest ' || rank"),
                     SHARDS);
    assert_int_equal(number(state, "SELECT count(*) FROM communicator"), 1);
    assert_int_equal(number(state, "SELECT count(*) FROM shard WHERE state = 'whole'"), SHARDS);
}

/* Merged files stay; until the merge is completed, no shard counts as complete. */
static void test_stopped(void **state)
{
    struct listener listener = {.most = 2};
    for (int i = 0; i < 4; i++)
        make_shard(i);
    assert_int_equal(merge_all(state, &listener, 4), -1);
    assert_int_equal(listener.taken, 2);
    assert_int_equal(number(state, "SELECT count(*) FROM file"), 2);
    assert_int_equal(number(state, "SELECT count(*) FROM shard WHERE state = 'unfinished'"), 4);
    struct listener again = {.most = SIZE_MAX};
    assert_int_equal(merge_all(state, &again, 4), 0);
    assert_int_equal(number(state, "SELECT count(*) FROM file"), 4);
    assert_int_equal(number(state, "SELECT count(*) FROM shard WHERE state = 'whole'"), 4);
    assert_int_equal(number(state, "SELECT count(*) FROM shard WHERE state = 'missing'"), SHARDS - 4);
}

/* A shard that cannot be read is missing, the others are merged; it is merged when it is readable. */
static void test_lost(void **state)
{
    struct listener listener = {.most = SIZE_MAX};
    make_shard(0);
    assert_int_equal(merge_all(state, &listener, 2), 0);
    assert_int_equal(listener.failed, 1);
    assert_int_equal(number(state, "SELECT count(*) FROM file"), 1);
    assert_int_equal(number(state, "SELECT count(*) FROM shard WHERE state = 'missing' AND path <> ''"), 1);
    make_shard(1);
    assert_int_equal(merge_all(state, &listener, 2), 0);
    assert_int_equal(number(state, "SELECT count(*) FROM shard WHERE state = 'whole'"), 2);
    assert_int_equal(number(state, "SELECT count(*) FROM shard"), SHARDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_many_shards, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
    };
    return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
