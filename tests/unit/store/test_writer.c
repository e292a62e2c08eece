#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "model/model.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

static const struct interval_ns UNKNOWN = {TIME_UNKNOWN, TIME_UNKNOWN};

static struct origin origin_of(uint64_t hash, int64_t rank)
{
    return (struct origin){.host = "node1", .pid = 77, .communicator_hash = hash, .rank = rank};
}

static struct event operation(uint64_t hash, int64_t rank, int64_t ordinal)
{
    return (struct event){.kind = EVENT_OPERATION,
                          .origin = origin_of(hash, rank),
                          .operation = {.ordinal = ordinal,
                                        .function = FUNCTION_ALL_REDUCE,
                                        .sequence = ordinal,
                                        .count = 1024,
                                        .datatype = DATATYPE_FLOAT32,
                                        .bytes = 4096,
                                        .root = COUNT_UNKNOWN,
                                        .peer = COUNT_UNKNOWN,
                                        .channel_count = 2,
                                        .api = UNKNOWN,
                                        .enqueue = {1000 * ordinal, 1000 * ordinal + 10},
                                        .device = UNKNOWN,
                                        .gpu_begin = UINT64_MAX,
                                        .duration_ns = COUNT_UNKNOWN}};
}

/* A send of three network steps; step i waits i + 1 us for the network. */
static struct event proxy(uint64_t hash, int64_t rank, int64_t of, struct proxy_step steps[3])
{
    for (int i = 0; i < 3; i++) {
        steps[i] = (struct proxy_step){.step = i};
        for (int wait = 0; wait < WAIT_KINDS; wait++)
            steps[i].wait[wait] = UNKNOWN;
        steps[i].wait[WAIT_NETWORK] = (struct interval_ns){5000 * i, 5000 * i + 1000 * (i + 1)};
    }
    return (struct event){.kind = EVENT_PROXY,
                          .origin = origin_of(hash, rank),
                          .proxy = {.operation = of,
                                    .direction = DIRECTION_SEND,
                                    .channel = 1,
                                    .peer = 3,
                                    .step_count = 3,
                                    .chunk_bytes = 4096,
                                    .transferred_bytes = COUNT_UNKNOWN,
                                    .schedule = UNKNOWN,
                                    .progress = {4000, 90000},
                                    .steps = steps,
                                    .steps_recorded = 3}};
}

static struct event tag(uint64_t hash, int64_t rank, const char *text, int process_wide)
{
    return (struct event){.kind = EVENT_TAG,
                          .origin = origin_of(hash, rank),
                          .tag = {.text = text, .at_ns = 5, .process_wide = process_wide}};
}

/* The current file, and the number of earlier files of the same writer. */
static struct {
    struct writer *writer;
    struct writer_file file;
    struct intake intake;
    struct batch batch;
    int64_t order;
} now;

static int full(void *context, struct batch **batch, struct error *error)
{
    assert_int_equal(writer_put(now.writer, &now.file, *batch, error), 0);
    batch_clear(*batch);
    return 0;
}

static struct writer *open_writer(struct store *store)
{
    struct writer *writer = writer_new(store, NULL);
    assert_non_null(writer);
    return writer;
}

static void begin(struct writer *writer, const char *path)
{
    now.writer = writer;
    batch_init(&now.batch);
    intake_init(&now.intake, &now.batch, full, NULL);
    assert_int_equal(writer_begin(writer, &now.file, now.order++, 0, path, "/traces", NULL), 0);
}

static void put(struct event event)
{
    assert_int_equal(intake_event(&now.intake, &event, NULL), 0);
}

static void note(const char *reason, int damage, uint64_t offset, const char *detail, size_t length)
{
    assert_int_equal(intake_note(&now.intake, reason, damage, offset, detail, length, NULL), 0);
}

static void release(void)
{
    intake_release(&now.intake);
    batch_release(&now.batch);
}

static enum writer_outcome finish(const char *digest, int force)
{
    assert_int_equal(intake_end(&now.intake, NULL), 0);
    const struct writer_facts facts = {.dialect = "chrome-v5",
                                       .digest = digest,
                                       .bytes = 100,
                                       .unpacked_bytes = 200,
                                       .events = now.intake.builder.events,
                                       .ledger = &now.intake.ledger,
                                       .force = force};
    enum writer_outcome outcome;
    assert_int_equal(writer_finish(now.writer, &now.file, &facts, &outcome, NULL), 0);
    release();
    return outcome;
}

/* A file with `count` operations of one member. */
static enum writer_outcome put_file(struct writer *writer, const char *path, const char *digest,
                                    uint64_t hash, int64_t count)
{
    begin(writer, path);
    for (int64_t i = 0; i < count; i++)
        put(operation(hash, 2, i));
    return finish(digest, 0);
}

static void close_both(struct writer *writer, struct store *store)
{
    writer_free(writer);
    store_close(store);
    now.order = 0;
}

static void test_rows_arrive(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    struct proxy_step steps[3];
    begin(writer, "/traces/a");
    put(operation(UINT64_C(0xfedcba9876543210), 2, 0));
    put(proxy(UINT64_C(0xfedcba9876543210), 2, 0, steps));
    put(tag(UINT64_C(0xfedcba9876543210), 2, "it's \"forward\"'; DROP TABLE file; --", 0));
    put(tag(UINT64_C(0xfedcba9876543210), 2, "everywhere", 1));
    assert_int_equal(finish("d1", 0), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(
        store_file_number(store,
                          "SELECT count(*) FROM v_operation WHERE function = 'AllReduce' AND "
                          "communicator_hash = '18364758544493064720' AND "
                          "communicator_hash_hex = '0xfedcba9876543210' AND communicator_rank = 2 "
                          "AND gpu_begin = '18446744073709551615' AND gpu_end IS NULL AND "
                          "device_begin_us IS NULL AND enqueue_end_us = 0.01 AND bytes = 4096 AND "
                          "root IS NULL AND datatype = 'float32'"),
        1);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM tag_mark WHERE text LIKE '%DROP TABLE%'"),
                     1);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM tag_mark WHERE member_id IS NULL"), 1);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM process WHERE host = 'node1' AND pid = 77"), 1);
    assert_int_equal(store_file_number(store, "SELECT events FROM file WHERE path = '/traces/a'"), 4);
    int64_t joined;
    assert_int_equal(store_fact(store, "joined", 1, &joined, NULL), 0);
    assert_int_equal(joined, 0);
    close_both(writer, store);
}

/* A communicator that rank `rank` of a process describes, and its members. */
static struct event members(uint64_t hash, int64_t rank, const int64_t *list, size_t count,
                            const char *purpose)
{
    struct event event = {.kind = EVENT_COMMUNICATOR, .origin = origin_of(hash, rank)};
    event.origin.communicator_is_named = 1;
    event.communicator =
        (struct communicator_facts){.members = list, .member_count = count, .description = purpose};
    return event;
}

static void put_from(struct writer *writer, const char *path, const char *file_set, const char *digest)
{
    static const int64_t list[] = {6, 2, 4};
    now.writer = writer;
    batch_init(&now.batch);
    intake_init(&now.intake, &now.batch, full, NULL);
    assert_int_equal(writer_begin(writer, &now.file, now.order++, 0, path, file_set, NULL), 0);
    put(members(7, 1, NULL, 0, NULL));
    put(members(7, 1, list, 3, "tensor \"parallel\""));
    put(members(7, 1, list, 2, "said again"));
    struct event process = {.kind = EVENT_PROCESS, .origin = origin_of(0, COUNT_UNKNOWN)};
    process.process = PROCESS_FACTS_NONE;
    process.process.global_rank = 2;
    process.process.gpu = 0;
    process.process.gpu_bus_id = "0000:3b:00.0";
    put(process);
    process.origin = origin_of(7, 1);
    process.process.gpu = 5;
    put(process);
    struct event called = operation(7, 1, 0);
    called.origin.communicator_is_named = 1;
    called.operation.source = "train.py:12";
    put(called);
    assert_int_equal(finish(digest, 0), WRITER_INGESTED);
}

/* Facts about processes and communicators as a whole; they are removed with their file. */
static void test_facts_arrive_and_go(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    put_from(writer, "/traces/a", "/traces", "d1");
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM communicator WHERE member_list = '[6,2,4]'"
                                       " AND description = 'tensor \"parallel\"' AND named_hash = 7"),
                     1);
    assert_int_equal(store_file_number(store,
                                       "SELECT count(*) FROM process_fact WHERE global_rank = 2 AND gpu = 0"
                                       " AND gpu_bus_id = '0000:3b:00.0' AND local_rank IS NULL"
                                       " AND gpu_serial IS NULL AND member_id IS NULL"),
                     1);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM process_fact WHERE gpu = 5 AND member_id = 1"), 1);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation WHERE source = 'train.py:12'"),
                     1);
    assert_int_equal(store_file_number(store, "SELECT events FROM file"), 1);
    put_file(writer, "/traces/a", "d2", 8, 1);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM process_fact"), 0);
    close_both(writer, store);
}

/* Groups of two jobs have the same names: communicators known by name are the same in one directory only. */
static void test_named_communicators_stay_apart(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    put_from(writer, "/one/a", "/one", "d1");
    put_from(writer, "/one/b", "/one", "d2");
    put_from(writer, "/two/a", "/two", "d3");
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM communicator"), 2);
    assert_int_equal(
        store_file_number(store, "SELECT count(DISTINCT hash) FROM communicator WHERE hash <> 7"), 2);
    close_both(writer, store);
}

static void test_steps_unpack_in_sql(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    struct proxy_step steps[3];
    begin(writer, "/traces/a");
    for (int i = 0; i < 10; i++) {
        put(operation(1, 2, i));
        put(proxy(1, 2, i, steps));
    }
    put(proxy(1, 2, COUNT_UNKNOWN, steps)); /* detached */
    assert_int_equal(finish("d1", 0), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM proxy_step"), 33);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM proxy_step WHERE operation_id IS NULL"),
                     3);
    assert_int_equal(store_file_number(store, "SELECT sum(network_us) FROM proxy_step"), 11 * (1 + 2 + 3));
    assert_int_equal(
        store_file_number(store, "SELECT network_begin_ns FROM proxy_step WHERE step = 2 LIMIT 1"), 10000);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM proxy_step WHERE gpu_us IS NOT NULL"), 0);
    /* Each kind of lookup agrees with the scan. */
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM proxy_step WHERE operation_id = (1 << 32) + 4"), 3);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM proxy_step WHERE proxy_operation_id = (1 << 32) + 4"),
        3);
    assert_int_equal(
        store_file_number(store,
                          "SELECT count(*) FROM proxy_step WHERE proxy_operation_id > (1 << 32) + 4 "
                          "AND proxy_operation_id <= (1 << 32) + 6"),
        6);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM operation o JOIN proxy_step USING (operation_id)"),
        30);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM proxy_step WHERE operation_id = 'x'"), 0);
    close_both(writer, store);
}

static void test_same_content_goes_in_once(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    struct known known;
    assert_int_equal(known_read(&known, store, NULL), 0);
    assert_int_equal(known.count, 0);
    assert_false(known_has_size(&known, 100));
    known_release(&known);
    assert_int_equal(put_file(writer, "/traces/a", "d1", 1, 5), WRITER_INGESTED);
    assert_int_equal(put_file(writer, "/elsewhere/b", "d1", 1, 5), WRITER_UNCHANGED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation"), 5);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM file"), 1);
    assert_int_equal(known_read(&known, store, NULL), 0);
    assert_true(known_has_size(&known, 100));
    assert_false(known_has_size(&known, 99));
    assert_int_equal(known_find(&known, 100, "d1")->events, 5);
    assert_string_equal(known_find(&known, 100, "d1")->dialect, "chrome-v5");
    assert_null(known_find(&known, 100, "d2"));
    assert_null(known_find(&known, 99, "d1"));
    known_release(&known);
    close_both(writer, store);
}

static void test_new_content_replaces_old(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    assert_int_equal(put_file(writer, "/traces/a", "d1", 1, 5), WRITER_INGESTED);
    assert_int_equal(put_file(writer, "/traces/b", "d2", 2, 7), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(put_file(writer, "/traces/a", "d3", 3, 2), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation"), 9);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM file"), 2);
    /* Only the old content contained communicator 1. */
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM communicator"), 2);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM communicator WHERE hash = 1"), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM member"), 2);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM process"), 1);
    /* Removed rows can be added again. */
    assert_int_equal(put_file(writer, "/traces/c", "d4", 1, 3), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM v_operation WHERE communicator_hash = '1'"), 3);
    close_both(writer, store);
}

static void test_standard_input_replaces_nothing(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    assert_int_equal(put_file(writer, "-", "d1", 1, 5), WRITER_INGESTED);
    assert_int_equal(put_file(writer, "-", "d2", 1, 6), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation"), 11);
    close_both(writer, store);
}

static void test_force_reads_again(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    assert_int_equal(put_file(writer, "/traces/a", "d1", 1, 5), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    begin(writer, "/traces/a");
    put(operation(1, 2, 0));
    assert_int_equal(finish("d1", 1), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation"), 1);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM file"), 1);
    close_both(writer, store);
}

static void test_abandoned_leaves_nothing(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    assert_int_equal(put_file(writer, "/traces/a", "d1", 1, 5), WRITER_INGESTED);
    begin(writer, "/traces/b");
    for (int64_t i = 0; i < 20000; i++) /* more than a batch */
        put(operation(9, 4, i));
    assert_int_equal(writer_abandon(writer, &now.file, NULL), 0);
    release();
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation"), 5);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM communicator"), 1);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM file_member"), 1);
    close_both(writer, store);
}

static void test_uncommitted_is_rolled_back(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    assert_int_equal(put_file(writer, "/traces/a", "d1", 1, 5), WRITER_INGESTED);
    writer_free(writer);
    now.order = 0;
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation"), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM file"), 0);
    store_close(store);
}

static void test_ledger_and_partial(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    begin(writer, "/traces/a");
    put(operation(1, 2, 0));
    note("proxy control event", 0, 10, NULL, 0);
    note("unreadable line", 1, 500, "{\"name\": \033", 10);
    note("unreadable line", 1, 900, NULL, 0);
    assert_int_equal(ledger_first_damage(&now.intake.ledger)->first_offset, 500);
    assert_int_equal(finish("d1", 0), WRITER_PARTIAL);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT skipped FROM file WHERE status = 'partial'"), 3);
    assert_int_equal(
        store_file_number(store,
                          "SELECT count FROM v_ledger WHERE damage = 1 AND first_offset = 500 AND "
                          "example = '{\"name\": ' || char(27)"),
        2);
    close_both(writer, store);
}

static void test_ledger_is_bounded(void **state)
{
    struct ledger ledger;
    ledger_init(&ledger);
    for (int i = 0; i < 1000; i++) {
        char reason[32];
        snprintf(reason, sizeof reason, "reason %d", i);
        assert_int_equal(ledger_note(&ledger, reason, 0, (uint64_t)i, NULL, 0, NULL), 0);
    }
    assert_int_equal(ledger.count, LEDGER_REASONS);
    assert_int_equal(ledger_total(&ledger), 1000);
    assert_int_equal(ledger_damage(&ledger), 0);
    assert_null(ledger_first_damage(&ledger));
    ledger_release(&ledger);
}

/* Hash 0 means unknown: such communicators of different files are different. */
static void test_unhashed_communicators_stay_apart(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    assert_int_equal(put_file(writer, "/traces/a", "d1", 0, 1), WRITER_INGESTED);
    assert_int_equal(put_file(writer, "/traces/b", "d2", 0, 1), WRITER_INGESTED);
    assert_int_equal(put_file(writer, "/traces/c", "d3", 5, 1), WRITER_INGESTED);
    assert_int_equal(put_file(writer, "/traces/d", "d4", 5, 1), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM communicator"), 3);
    close_both(writer, store);
}

/* Later lines add facts about a communicator; earlier facts stay. */
static void test_communicators_learn(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    begin(writer, "/traces/a");
    put(operation(1, 2, 0));
    struct event named = {.kind = EVENT_COMMUNICATOR, .origin = origin_of(1, 2)};
    named.origin.communicator_name = "tp0";
    named.origin.communicator_size = 8;
    put(named);
    named.origin.communicator_name = "other";
    named.origin.communicator_size = 9;
    named.origin.node_count = 4;
    put(named);
    assert_int_equal(finish("d1", 0), WRITER_INGESTED);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(
        store_file_number(store,
                          "SELECT count(*) FROM communicator WHERE name = 'tp0' AND size = 8 AND "
                          "node_count = 4"),
        1);
    close_both(writer, store);
}

/* Two writers, one after the other, number their files separately. */
static void test_writers_take_turns(void **state)
{
    struct store *first_store = store_file_open(state, STORE_CREATE);
    struct store *second_store = store_file_open(state, STORE_CREATE);
    struct writer *first = open_writer(first_store), *second = open_writer(second_store);
    assert_int_equal(put_file(first, "/traces/a", "d1", 1, 5), WRITER_INGESTED);
    assert_int_equal(writer_commit(first, NULL), 0);
    assert_int_equal(put_file(second, "/traces/b", "d2", 1, 5), WRITER_INGESTED);
    assert_int_equal(writer_commit(second, NULL), 0);
    assert_int_equal(put_file(first, "/traces/c", "d3", 1, 5), WRITER_INGESTED);
    assert_int_equal(writer_commit(first, NULL), 0);
    assert_int_equal(store_file_number(first_store, "SELECT count(*) FROM operation"), 15);
    assert_int_equal(store_file_number(first_store, "SELECT count(*) FROM member"), 1);
    close_both(first, first_store);
    close_both(second, second_store);
}

/* Files may be written in alternating pieces; the second one is dropped, the first one stays complete. */
static void test_files_interleave(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct writer *writer = open_writer(store);
    struct batch batch;
    struct batch_builder builders[2];
    struct writer_file files[2];
    batch_init(&batch);
    for (int i = 0; i < 2; i++) {
        batch_builder_init(&builders[i]);
        assert_int_equal(
            writer_begin(writer, &files[i], 1 - i, 0, i ? "/traces/b" : "/traces/a", "/traces", NULL), 0);
    }
    for (int64_t round = 0; round < 10; round++)
        for (int i = 0; i < 2; i++) {
            struct event event = operation((uint64_t)i + 1, 2, round);
            assert_int_equal(batch_add(&builders[i], &batch, &event, NULL), 0);
            assert_int_equal(batch_pack(&builders[i], &batch, NULL), 0);
            assert_int_equal(writer_put(writer, &files[i], &batch, NULL), 0);
            batch_clear(&batch);
        }
    struct ledger ledger;
    ledger_init(&ledger);
    const struct writer_facts facts = {
        .dialect = "chrome-v5", .digest = "d", .events = 10, .ledger = &ledger};
    enum writer_outcome outcome;
    assert_int_equal(writer_abandon(writer, &files[1], NULL), 0);
    assert_int_equal(writer_finish(writer, &files[0], &facts, &outcome, NULL), 0);
    assert_int_equal(writer_commit(writer, NULL), 0);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM v_operation WHERE communicator_hash = '1'"), 10);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM operation"), 10);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM communicator"), 1);
    assert_int_equal(store_file_number(store, "SELECT file_id FROM file"), 2); /* by its order, 1 */
    for (int i = 0; i < 2; i++)
        batch_builder_release(&builders[i]);
    batch_release(&batch);
    close_both(writer, store);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_rows_arrive),
        WITH_FILE(test_steps_unpack_in_sql),
        WITH_FILE(test_facts_arrive_and_go),
        WITH_FILE(test_named_communicators_stay_apart),
        WITH_FILE(test_same_content_goes_in_once),
        WITH_FILE(test_new_content_replaces_old),
        WITH_FILE(test_standard_input_replaces_nothing),
        WITH_FILE(test_force_reads_again),
        WITH_FILE(test_abandoned_leaves_nothing),
        WITH_FILE(test_uncommitted_is_rolled_back),
        WITH_FILE(test_ledger_and_partial),
        cmocka_unit_test(test_ledger_is_bounded),
        WITH_FILE(test_unhashed_communicators_stay_apart),
        WITH_FILE(test_communicators_learn),
        WITH_FILE(test_writers_take_turns),
        WITH_FILE(test_files_interleave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
