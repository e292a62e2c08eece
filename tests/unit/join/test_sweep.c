#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

/* The order in which operations are visited, and the effect of their sequence numbers. */

enum { UNTIMED = 0, MOST = 5 * BLOCK_ROWS };

/* An operation of a rank as written in its file, of communicator 1 unless given. */
struct call {
    enum function function;
    int64_t number;
    int64_t at_ns; /* UNTIMED: not in the file */
    int in_second;
};

static struct event event_of(const struct call *call, size_t line)
{
    const struct interval_ns unknown = {TIME_UNKNOWN, TIME_UNKNOWN};
    uint64_t hash = call->in_second ? 2 : 1;
    return (struct event){
        .kind = EVENT_OPERATION,
        .origin = {.host = "node", .pid = 77, .communicator_hash = hash, .rank = 0},
        .operation = {.ordinal = (int64_t)line,
                      .function = call->function,
                      .sequence = call->number,
                      .count = COUNT_UNKNOWN,
                      .bytes = (int64_t)line, /* how it is identified here */
                      .root = COUNT_UNKNOWN,
                      .peer = function_is_point_to_point(call->function) ? 1 : COUNT_UNKNOWN,
                      .api = unknown,
                      .enqueue = call->at_ns == UNTIMED ? unknown
                                                        : (struct interval_ns){call->at_ns, call->at_ns + 1},
                      .device = unknown,
                      .gpu_begin = UINT64_MAX,
                      .gpu_end = UINT64_MAX,
                      .duration_ns = COUNT_UNKNOWN}};
}

struct putting {
    struct writer *writer;
    struct writer_file file;
};

static int put_batch(void *context, struct batch **batch, struct error *error)
{
    struct putting *putting = context;
    assert_int_equal(writer_put(putting->writer, &putting->file, *batch, error), 0);
    batch_clear(*batch);
    return 0;
}

static void put_file(struct store *store, const struct call *calls, size_t count)
{
    struct putting putting = {.writer = writer_new(store, NULL)};
    struct intake intake;
    struct batch batch;
    enum writer_outcome outcome;
    assert_non_null(putting.writer);
    batch_init(&batch);
    intake_init(&intake, &batch, put_batch, &putting);
    assert_int_equal(writer_begin(putting.writer, &putting.file, 0, 0, "/traces/a", "/traces", NULL), 0);
    for (size_t i = 0; i < count; i++) {
        struct event event = event_of(&calls[i], i);
        assert_int_equal(intake_event(&intake, &event, NULL), 0);
    }
    assert_int_equal(intake_end(&intake, NULL), 0);
    const struct writer_facts facts = {.dialect = "inspector", .digest = "d", .ledger = &intake.ledger};
    assert_int_equal(writer_finish(putting.writer, &putting.file, &facts, &outcome, NULL), 0);
    assert_int_equal(writer_commit(putting.writer, NULL), 0);
    intake_release(&intake);
    batch_release(&batch);
    writer_free(putting.writer);
}

/* All visited operations, by line. Returns their number. */
static size_t sweep_all(struct store *store, const uint64_t hashes[2],
                        struct issued_operation *issued_operation)
{
    pthread_mutex_t inside = PTHREAD_MUTEX_INITIALIZER;
    struct error error = ERROR_INIT;
    struct intern texts;
    struct blocks blocks;
    struct cursor cursor;
    struct work_member members[] = {
        {.id = store_file_number(store, "SELECT min(member_id) FROM member")},
        {.id = store_file_number(store, "SELECT max(member_id) FROM member"), .communicator = 1}};
    struct work_communicator communicators[] = {{.hash = hashes[0]}, {.hash = hashes[1]}};
    const struct work work = {.members = members, .communicators = communicators};
    size_t count = 0, of = members[0].id == members[1].id ? 1 : 2;
    int more;
    intern_init(&texts);
    assert_int_equal(blocks_init(&blocks, store, &inside, &texts, &error), 0);
    assert_int_equal(cursor_begin(&cursor, &blocks, &work, (const int32_t[]){0, 1}, of, &error), 0);
    while ((more = cursor_next(&cursor, &issued_operation[count], &error)) == 1)
        assert_true(++count < MOST);
    assert_int_equal(more, 0);
    cursor_end(&cursor);
    blocks_release(&blocks);
    intern_release(&texts);
    return count;
}

/* `expected`: the lines, in the order of the visit; after as many others as `before` gives. */
static void check_by(void **state, const uint64_t hashes[2], size_t before, const struct call *calls,
                     size_t count, const int64_t *expected)
{
    struct call all[MOST] = {{0}};
    struct issued_operation issued_operation[MOST];
    assert_true(before + count < MOST);
    for (size_t i = 0; i < before; i++)
        all[i] =
            (struct call){FUNCTION_ALL_REDUCE, (int64_t)i, calls[0].at_ns ? 1000 + (int64_t)i : UNTIMED, 0};
    for (size_t i = 0; i < count; i++)
        all[before + i] = calls[i];
    assert_int_equal(store_file_setup(state), 0);
    struct store *store = store_file_open(state, STORE_CREATE);
    put_file(store, all, before + count);
    assert_int_equal(sweep_all(store, hashes, issued_operation), before + count);
    for (size_t i = 0; i < before + count; i++) {
        int64_t line = i < before ? (int64_t)i : (int64_t)before + expected[i - before];
        assert_int_equal(issued_operation[i].bytes, line);
        assert_int_equal(issued_operation[i].function, all[line].function);
        assert_int_equal(issued_operation[i].sequence,
                         function_is_point_to_point(all[line].function) ? COUNT_UNKNOWN : all[line].number);
    }
    store_close(store);
    assert_int_equal(store_file_teardown(state), 0);
}

static void check_after(void **state, size_t before, const struct call *calls, size_t count,
                        const int64_t *expected)
{
    check_by(state, (const uint64_t[]){1, 2}, before, calls, count, expected);
}

/* The same within a block, and if the next block of the store begins after the first of these. */
static void check(void **state, const struct call *calls, size_t count, const int64_t *expected)
{
    check_after(state, 0, calls, count, expected);
    check_after(state, BLOCK_ROWS - 1, calls, count, expected);
    check_after(state, 4 * BLOCK_ROWS - 1, calls, count, expected);
}

/* Written in the order of their ends. */
static void calls_of_one_moment_go_by_number(void **state)
{
    check(state,
          (const struct call[]){
              {FUNCTION_SEND, 7, 9000, 0}, {FUNCTION_RECV, 5, 9000, 0}, {FUNCTION_SEND, 6, 9000, 0}},
          3, (const int64_t[]){1, 2, 0});
}

/* An AllReduce has a number of another kind. */
static void collectives_keep_their_place_among_them(void **state)
{
    check_after(state, 0,
                (const struct call[]){{FUNCTION_SEND, 7, 9000, 0},
                                      {FUNCTION_ALL_REDUCE, 0, 9000, 0},
                                      {FUNCTION_RECV, 5, 9000, 0},
                                      {FUNCTION_SEND, 6, 9000, 0}},
                4, (const int64_t[]){2, 1, 3, 0});
    /* An operation of the next block comes before the calls of both. */
    check_after(state, BLOCK_ROWS - 1,
                (const struct call[]){{FUNCTION_SEND, 7, 9000, 0},
                                      {FUNCTION_ALL_REDUCE, 0, 9000, 0},
                                      {FUNCTION_RECV, 5, 9000, 0},
                                      {FUNCTION_SEND, 6, 9000, 0}},
                4, (const int64_t[]){1, 2, 3, 0});
}

/* Times take precedence over numbers. */
static void calls_of_several_moments_go_by_time(void **state)
{
    check(state, (const struct call[]){{FUNCTION_SEND, 7, 9000, 0}, {FUNCTION_RECV, 5, 9001, 0}}, 2,
          (const int64_t[]){0, 1});
    check(state, (const struct call[]){{FUNCTION_SEND, 5, 9001, 0}, {FUNCTION_RECV, 7, 9000, 0}}, 2,
          (const int64_t[]){1, 0});
}

/* Without times, numbers show the order within a block; else the lines of the file. */
static void calls_without_times_go_by_number(void **state)
{
    static const struct call calls[] = {
        {FUNCTION_SEND, 7, UNTIMED, 0}, {FUNCTION_RECV, 5, UNTIMED, 0}, {FUNCTION_SEND, 6, UNTIMED, 0}};
    check_after(state, 0, calls, 3, (const int64_t[]){1, 2, 0});
    check_after(state, BLOCK_ROWS - 1, calls, 3, (const int64_t[]){0, 1, 2});
}

static void calls_without_numbers_go_by_line(void **state)
{
    check(state,
          (const struct call[]){{FUNCTION_SEND, COUNT_UNKNOWN, 9000, 0},
                                {FUNCTION_RECV, 5, 9000, 0},
                                {FUNCTION_SEND, COUNT_UNKNOWN, 9000, 0}},
          3, (const int64_t[]){0, 1, 2});
    check_after(state, 0,
                (const struct call[]){{FUNCTION_RECV, 5, 9000, 0}, {FUNCTION_SEND, COUNT_UNKNOWN, 9000, 0}},
                2, (const int64_t[]){0, 1});
}

/* Each communicator counts separately: the numbers of two show no order, nor do lines. */
static void two_communicators_go_by_hash(void **state)
{
    check_after(state, 0,
                (const struct call[]){
                    {FUNCTION_SEND, 7, 9000, 0}, {FUNCTION_RECV, 4, 8000, 1}, {FUNCTION_RECV, 5, 9000, 1}},
                3, (const int64_t[]){1, 0, 2});
    const struct call calls[] = {
        {FUNCTION_SEND, 3, 8000, 0}, {FUNCTION_RECV, 5, 9000, 1}, {FUNCTION_SEND, 7, 9000, 0}};
    check_by(state, (const uint64_t[]){1, 2}, 0, calls, 3, (const int64_t[]){0, 2, 1});
    check_by(state, (const uint64_t[]){2, 1}, 0, calls, 3, (const int64_t[]){0, 1, 2});
}

/*
 * Calls at one time, the last of them first, in five blocks: at most three are open at once, and the smallest
 * goes first.
 */
static void a_moment_of_many_blocks(void **state)
{
    enum { CALLS = 5 * BLOCK_ROWS - 1 };
    struct call calls[CALLS];
    struct issued_operation issued_operation[MOST];
    for (int i = 0; i < CALLS; i++)
        calls[i] = (struct call){FUNCTION_SEND, CALLS - i, 9000, 0};
    assert_int_equal(store_file_setup(state), 0);
    struct store *store = store_file_open(state, STORE_CREATE);
    put_file(store, calls, CALLS);
    assert_int_equal(sweep_all(store, (const uint64_t[]){1, 2}, issued_operation), CALLS);
    assert_int_equal(issued_operation[0].bytes, 3 * BLOCK_ROWS - 1);
    store_close(store);
    assert_int_equal(store_file_teardown(state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_one_moment_go_by_number),
        cmocka_unit_test(collectives_keep_their_place_among_them),
        cmocka_unit_test(calls_of_several_moments_go_by_time),
        cmocka_unit_test(calls_without_times_go_by_number),
        cmocka_unit_test(calls_without_numbers_go_by_line),
        cmocka_unit_test(two_communicators_go_by_hash),
        cmocka_unit_test(a_moment_of_many_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
