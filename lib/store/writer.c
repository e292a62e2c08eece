#include "store/writer.h"

#include "schemas.h"
#include "store/insert.h"
#include "store/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A batch is inserted when it takes so much, a transaction ends once it holds so much or took so long. */
enum { BATCH_BYTES = 1 << 20, TRANSACTION_BYTES = 64 << 20, TRANSACTION_SECONDS = 2 };

enum sentence {
    NEXT_FILE,
    ADD_FILE,
    ADD_LEDGER,
    FILE_BY_DIGEST,
    FILE_BY_SIZE,
    FILE_BY_PATH,
    REMOVE_FIRST,
    REMOVE_OPERATIONS = REMOVE_FIRST,
    REMOVE_PROXIES,
    REMOVE_TAGS,
    REMOVE_ANCHORS,
    REMOVE_LOSSES,
    REMOVE_FILE_MEMBERS,
    REMOVE_LEDGER,
    REMOVE_FILE,
    SENTENCES
};

static const char *const sentences[SENTENCES] = {
    [NEXT_FILE] = schema_ingest_write_next_file,
    [ADD_FILE] = schema_ingest_write_add_file,
    [ADD_LEDGER] = schema_ingest_write_add_ledger,
    [FILE_BY_DIGEST] = schema_ingest_write_file_by_digest,
    [FILE_BY_SIZE] = schema_ingest_write_file_by_size,
    [FILE_BY_PATH] = schema_ingest_write_file_by_path,
    [REMOVE_OPERATIONS] = schema_ingest_write_remove_file,
    [REMOVE_PROXIES] = schema_ingest_write_remove_proxy,
    [REMOVE_TAGS] = schema_ingest_write_remove_tag,
    [REMOVE_ANCHORS] = schema_ingest_write_remove_anchor,
    [REMOVE_LOSSES] = schema_ingest_write_remove_loss,
    [REMOVE_FILE_MEMBERS] = schema_ingest_write_remove_file_member,
    [REMOVE_LEDGER] = schema_ingest_write_remove_ledger,
    [REMOVE_FILE] = schema_ingest_write_remove_file_row,
};

struct writer {
    struct store *store;
    struct inserter inserter;
    struct statement *statements[SENTENCES];
    struct ledger ledger;
    struct batch batch;
    struct batch_builder builder;
    struct insert_target target;
    char *path;
    char *file_set;
    int in_transaction;
    int has_changed; /* this transaction changes what the store holds */
    int needs_sweep; /* rows went: others may be left without a file */
    int failed;
    int64_t next_file;
    uint64_t transaction_bytes;
    struct timespec begun;
};

static int put_batch(struct writer *writer, struct error *error)
{
    int outcome = inserter_put(&writer->inserter, &writer->target, &writer->batch, error);
    writer->transaction_bytes += batch_size_bytes(&writer->batch);
    batch_clear(&writer->batch);
    return outcome;
}

int writer_event(void *context, const struct event *event, struct error *error)
{
    struct writer *writer = context;
    if (batch_add(&writer->builder, &writer->batch, event, error) ||
        (batch_size_bytes(&writer->batch) >= BATCH_BYTES && put_batch(writer, error))) {
        writer->failed = 1;
        return -1;
    }
    return 0;
}

int writer_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error)
{
    struct writer *writer = context;
    if (ledger_note(&writer->ledger, reason, damage, offset, detail, detail_length, error)) {
        writer->failed = 1;
        return -1;
    }
    return 0;
}

struct writer *writer_new(struct store *store, struct error *error)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        error_no_memory(error);
        return NULL;
    }
    writer->store = store;
    ledger_init(&writer->ledger);
    batch_init(&writer->batch);
    batch_builder_init(&writer->builder);
    int failed = inserter_init(&writer->inserter, store, error);
    for (int i = 0; i < SENTENCES && !failed; i++)
        failed = !(writer->statements[i] = store_prepare(store, sentences[i], error));
    if (failed) {
        writer_free(writer);
        return NULL;
    }
    return writer;
}

static void forget_file(struct writer *writer)
{
    batch_clear(&writer->batch);
    batch_builder_release(&writer->builder);
    batch_builder_init(&writer->builder);
    insert_target_release(&writer->target);
    free(writer->path);
    free(writer->file_set);
    writer->path = writer->file_set = NULL;
}

void writer_free(struct writer *writer)
{
    if (!writer)
        return;
    forget_file(writer);
    ledger_release(&writer->ledger);
    batch_release(&writer->batch);
    batch_builder_release(&writer->builder);
    inserter_release(&writer->inserter);
    for (int i = 0; i < SENTENCES; i++)
        statement_free(writer->statements[i]);
    store_rollback(writer->store);
    free(writer);
}

int writer_failed(const struct writer *writer)
{
    return writer->failed;
}

const struct ledger *writer_ledger(const struct writer *writer)
{
    return &writer->ledger;
}

int64_t writer_events(const struct writer *writer)
{
    return writer->builder.events;
}

int writer_is_settled(const struct writer *writer)
{
    return !writer->has_changed;
}

static int fail(struct writer *writer)
{
    writer->failed = 1;
    return -1;
}

int writer_find(struct writer *writer, const char *digest, struct writer_known *known, struct error *error)
{
    struct statement *find = writer->statements[FILE_BY_DIGEST];
    if (statement_bind_text(find, 1, digest, error))
        return -1;
    int found = statement_step(find, error);
    if (found == 1 && known) {
        snprintf(known->dialect, sizeof known->dialect, "%s", statement_text(find, 1));
        known->events = statement_integer(find, 2);
        known->skipped = statement_integer(find, 3);
        known->unpacked_bytes = statement_integer(find, 4);
    }
    statement_reset(find);
    return found;
}

int writer_find_size(struct writer *writer, uint64_t bytes, struct error *error)
{
    struct statement *find = writer->statements[FILE_BY_SIZE];
    if (statement_bind_integer(find, 1, (int64_t)bytes, error))
        return -1;
    int found = statement_step(find, error);
    statement_reset(find);
    return found;
}

static int begin_transaction(struct writer *writer, struct error *error)
{
    if (writer->in_transaction)
        return 0;
    if (store_begin(writer->store, error))
        return -1;
    writer->in_transaction = 1;
    /* Another process may have written meanwhile. */
    inserter_forget(&writer->inserter);
    struct statement *next = writer->statements[NEXT_FILE];
    if (statement_step(next, error) != 1)
        return -1;
    writer->next_file = statement_integer(next, 0);
    statement_reset(next);
    clock_gettime(CLOCK_MONOTONIC, &writer->begun);
    return 0;
}

int writer_begin(struct writer *writer, const char *path, const char *file_set, struct error *error)
{
    ledger_release(&writer->ledger);
    if (begin_transaction(writer, error))
        return fail(writer);
    writer->path = strdup(path);
    writer->file_set = strdup(file_set);
    if (!writer->path || !writer->file_set) {
        error_no_memory(error);
        return fail(writer);
    }
    writer->target = (struct insert_target){
        .file_id = writer->next_file, .path = writer->path, .file_set = writer->file_set};
    return 0;
}

static int remove_file(struct writer *writer, int64_t file_id, struct error *error)
{
    for (int i = REMOVE_FIRST; i < SENTENCES; i++)
        if (statement_bind_integer(writer->statements[i], 1, file_id, error) ||
            statement_step(writer->statements[i], error) < 0)
            return -1;
    writer->needs_sweep = 1;
    return 0;
}

/* The id that a statement with one text parameter finds in its first column; 0: none, -1: error. */
static int64_t find_file(struct writer *writer, enum sentence sentence, const char *text, struct error *error)
{
    struct statement *find = writer->statements[sentence];
    if (statement_bind_text(find, 1, text, error))
        return -1;
    int found = statement_step(find, error);
    int64_t id = found == 1 ? statement_integer(find, 0) : found;
    statement_reset(find);
    return id;
}

static int remove_found(struct writer *writer, enum sentence sentence, const char *text, struct error *error)
{
    int64_t id = find_file(writer, sentence, text, error);
    return id <= 0 ? (int)id : remove_file(writer, id, error);
}

static int add_ledger(struct writer *writer, struct error *error)
{
    struct statement *add = writer->statements[ADD_LEDGER];
    for (size_t i = 0; i < writer->ledger.count; i++) {
        const struct ledger_entry *entry = &writer->ledger.entries[i];
        if (statement_bind_integer(add, 1, writer->target.file_id, error) ||
            statement_bind_text(add, 2, entry->reason, error) ||
            statement_bind_integer(add, 3, entry->damage, error) ||
            statement_bind_integer(add, 4, entry->count, error) ||
            statement_bind_integer(add, 5, (int64_t)entry->first_offset, error) ||
            statement_bind_text(add, 6, *entry->example ? entry->example : NULL, error) ||
            statement_step(add, error) < 0)
            return -1;
    }
    return 0;
}

static int add_file(struct writer *writer, const struct writer_facts *facts, enum writer_outcome outcome,
                    struct error *error)
{
    struct statement *add = writer->statements[ADD_FILE];
    const char *status = outcome == WRITER_PARTIAL ? "partial" : "ingested";
    if (statement_bind_integer(add, 1, writer->target.file_id, error) ||
        statement_bind_text(add, 2, writer->path, error) ||
        statement_bind_text(add, 3, writer->file_set, error) ||
        statement_bind_text(add, 4, facts->dialect, error) ||
        statement_bind_text(add, 5, facts->digest, error) ||
        statement_bind_integer(add, 6, (int64_t)facts->bytes, error) ||
        statement_bind_integer(add, 7, (int64_t)facts->unpacked_bytes, error) ||
        statement_bind_text(add, 8, status, error) ||
        statement_bind_integer(add, 9, writer->builder.events, error) ||
        statement_bind_integer(add, 10, ledger_total(&writer->ledger), error) ||
        statement_step(add, error) < 0)
        return -1;
    return add_ledger(writer, error);
}

/* A transaction that has grown or lasted long enough ends, and leaves others a moment to get in. */
static int commit_when_due(struct writer *writer, struct error *error)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (writer->transaction_bytes < TRANSACTION_BYTES &&
        now.tv_sec - writer->begun.tv_sec < TRANSACTION_SECONDS)
        return 0;
    if (writer_commit(writer, error))
        return -1;
    nanosleep(&(struct timespec){.tv_nsec = 3 * 1000 * 1000}, NULL);
    return 0;
}

static int keep_file(struct writer *writer, const struct writer_facts *facts, enum writer_outcome outcome,
                     struct error *error)
{
    if (put_batch(writer, error) || remove_found(writer, FILE_BY_DIGEST, facts->digest, error) ||
        remove_found(writer, FILE_BY_PATH, writer->path, error) || add_file(writer, facts, outcome, error))
        return -1;
    writer->has_changed = 1;
    writer->next_file++;
    return 0;
}

int writer_finish(struct writer *writer, const struct writer_facts *facts, enum writer_outcome *outcome,
                  struct error *error)
{
    int known = facts->force ? 0 : writer_find(writer, facts->digest, NULL, error);
    if (known < 0)
        return fail(writer);
    if (known) {
        *outcome = WRITER_UNCHANGED;
        return writer_abandon(writer, error);
    }
    *outcome = ledger_damage(&writer->ledger) ? WRITER_PARTIAL : WRITER_INGESTED;
    if (keep_file(writer, facts, *outcome, error))
        return fail(writer);
    forget_file(writer);
    return commit_when_due(writer, error);
}

int writer_abandon(struct writer *writer, struct error *error)
{
    int outcome = writer->target.file_id ? remove_file(writer, writer->target.file_id, error) : 0;
    forget_file(writer);
    return outcome ? fail(writer) : 0;
}

int writer_commit(struct writer *writer, struct error *error)
{
    if (writer->failed)
        return error_set(error, "an earlier failure lost the transaction");
    if (writer->in_transaction) {
        if ((writer->needs_sweep && store_execute(writer->store, schema_ingest_write_sweep, error)) ||
            (writer->has_changed && store_set_fact(writer->store, "joined", 0, error)) ||
            store_commit(writer->store, error))
            return fail(writer);
        if (writer->needs_sweep)
            inserter_forget(&writer->inserter);
    }
    writer->in_transaction = writer->has_changed = writer->needs_sweep = 0;
    writer->transaction_bytes = 0;
    return 0;
}
