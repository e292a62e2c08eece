/*
 * Writes files into the store in transactions: decides whether a file is new, replaces an older content of
 * its path, or is dropped because its content is stored already. Also the intake, which turns the events of a
 * reader into batches.
 */

#include "base/base.h"
#include "store/records.h"
#include "store/store.h"

#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Size and age at which a transaction is committed. `make torture` makes the size small. */
#ifndef TRANSACTION_BYTES
#define TRANSACTION_BYTES (64 << 20)
#endif
enum { TRANSACTION_SECONDS = 2 };

enum sentence {
    NEXT_FILE,
    ADD_FILE,
    ADD_LEDGER,
    FILE_BY_CONTENT,
    FILE_BY_PATH,
    FILE_OF_SECOND_FORMAT,
    FILE_READ_BEFORE,
    MOVE_FILE,
    NOTE_ARRIVAL,
    DROP_LEDGER,
    DROP_FILE,
    SENTENCES
};

static const char *const sentences[SENTENCES] = {
    [NEXT_FILE] = schema_ingest_write_next_file,
    [ADD_FILE] = schema_ingest_write_add_file,
    [ADD_LEDGER] = schema_ingest_write_add_ledger,
    [FILE_BY_CONTENT] = schema_ingest_write_file_by_content,
    [FILE_BY_PATH] = schema_ingest_write_file_by_path,
    [FILE_OF_SECOND_FORMAT] = schema_ingest_write_file_of_twin,
    [FILE_READ_BEFORE] = schema_ingest_write_file_read_before,
    [MOVE_FILE] = schema_ingest_write_move_file,
    [NOTE_ARRIVAL] = schema_ingest_write_note_arrival,
    [DROP_LEDGER] = schema_ingest_write_drop_ledger,
    [DROP_FILE] = schema_ingest_write_drop_file,
};

struct writer {
    struct store *store;
    struct inserter inserter;
    struct removal removal;
    struct statement *statements[SENTENCES];
    int in_transaction;
    int has_changed; /* this transaction changes the content of the store */
    int needs_sweep; /* rows were removed, so others may no longer belong to any file */
    int failed;
    int64_t first_file; /* in this transaction: id of the file whose order is first_order */
    int64_t first_order;
    int64_t next_order; /* 1 + the highest order so far */
    int64_t pipes; /* number in the name of the file set of pipes, higher than the id of any earlier file; 0:
                      no pipe so far */
    uint64_t transaction_bytes;
    struct timespec begun;
    struct map met; /* stored files whose content this ingest found at some path */
};

struct writer *writer_new(struct store *store, struct error *error)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        error_no_memory(error);
        return NULL;
    }
    writer->store = store;
    map_init(&writer->met);
    int failed =
        inserter_init(&writer->inserter, store, error) || removal_init(&writer->removal, store, error);
    for (int i = 0; i < SENTENCES && !failed; i++)
        failed = !(writer->statements[i] = record_tables_prepare(store, sentences[i], error));
    if (failed) {
        writer_free(writer);
        return NULL;
    }
    return writer;
}

void writer_free(struct writer *writer)
{
    if (!writer)
        return;
    inserter_release(&writer->inserter);
    removal_release(&writer->removal);
    for (int i = 0; i < SENTENCES; i++)
        statement_free(writer->statements[i]);
    store_rollback(writer->store);
    map_release(&writer->met);
    free(writer);
}

static int fail(struct writer *writer)
{
    writer->failed = 1;
    return -1;
}

static int begin_transaction(struct writer *writer, struct error *error)
{
    if (writer->in_transaction)
        return 0;
    if (store_begin(writer->store, error))
        return -1;
    writer->in_transaction = 1;
    int is_restored = recorded_restore(writer->store, error);
    if (is_restored < 0)
        return -1;
    writer->has_changed |= is_restored;
    /* Another process may have written in between. */
    inserter_forget(&writer->inserter);
    struct statement *next = writer->statements[NEXT_FILE];
    if (statement_step(next, error) != 1)
        return -1;
    writer->first_file = statement_integer(next, 0);
    writer->first_order = writer->next_order;
    statement_reset(next);
    clock_gettime(CLOCK_MONOTONIC, &writer->begun);
    return 0;
}

void writer_file_release(struct writer_file *file)
{
    insert_target_release(&file->target);
    free(file->path);
    free(file->file_set);
    *file = (struct writer_file){.path = NULL};
}

/*
 * Pipes have no directory. The pipes of one ingest are taken to belong to one job, different from all others.
 */
static char *name_set(struct writer *writer, const char *path, const char *file_set)
{
    char *name;
    if (strcmp(path, "-") != 0 || strcmp(file_set, "-") != 0)
        return strdup(file_set);
    if (!writer->pipes)
        writer->pipes = writer->first_file;
    return asprintf(&name, "-%lld", (long long)writer->pipes) < 0 ? NULL : name;
}

int writer_begin(struct writer *writer, struct writer_file *file, int64_t order, int64_t first_ordinal,
                 const char *path, const char *file_set, struct error *error)
{
    if (begin_transaction(writer, error))
        return fail(writer);
    *file = (struct writer_file){.path = strdup(path), .file_set = name_set(writer, path, file_set)};
    if (!file->path || !file->file_set) {
        writer_file_release(file);
        error_no_memory(error);
        return fail(writer);
    }
    file->target = (struct insert_target){.file_id = writer->first_file + order - writer->first_order,
                                          .first_ordinal = first_ordinal,
                                          .path = file->path,
                                          .file_set = file->file_set};
    if (order >= writer->next_order)
        writer->next_order = order + 1;
    return 0;
}

int writer_continue(struct writer *writer, struct writer_file *file, int64_t file_id, int64_t first_ordinal,
                    struct error *error)
{
    file->target.file_id = file_id;
    file->continues = writer->has_changed = 1;
    return first_ordinal && removal_records(&writer->removal, file_id, first_ordinal, error) ? fail(writer)
                                                                                             : 0;
}

int writer_put(struct writer *writer, struct writer_file *file, const struct batch *batch,
               struct error *error)
{
    writer->transaction_bytes += batch_size_bytes(batch);
    return inserter_put(&writer->inserter, &file->target, batch, error) ? fail(writer) : 0;
}

int writer_unload(struct writer *writer, struct writer_file *file, struct unload *load, struct error *error)
{
    uint64_t before = load->bytes;
    int outcome = unload_put(load, &writer->inserter, &file->target, error);
    writer->transaction_bytes += load->bytes - before;
    return outcome < 0 ? fail(writer) : outcome;
}

/* Runs a statement whose only parameter is a file. */
static int run_for(struct writer *writer, enum sentence sentence, int64_t file_id, struct error *error)
{
    struct statement *statement = writer->statements[sentence];
    return statement_bind_integer(statement, 1, file_id, error) || statement_step(statement, error) < 0 ? -1
                                                                                                        : 0;
}

static int remove_file(struct writer *writer, int64_t file_id, struct error *error)
{
    if (removal_file(&writer->removal, file_id, error))
        return -1;
    writer->needs_sweep = 1;
    return 0;
}

/* Returns the id in the first column of a bound statement; 0: none, -1: error. */
static int64_t find_file(struct statement *find, struct error *error)
{
    int found = statement_step(find, error);
    int64_t id = found == 1 ? statement_integer(find, 0) : found;
    statement_reset(find);
    return id;
}

static int64_t find_content(struct writer *writer, const struct writer_facts *facts, struct error *error)
{
    struct statement *find = writer->statements[FILE_BY_CONTENT];
    return statement_bind_text(find, 1, facts->digest, error) ||
                   statement_bind_text(find, 2, facts->unpacked_digest, error)
               ? -1
               : find_file(find, error);
}

static int64_t find_path(struct writer *writer, const char *path, struct error *error)
{
    struct statement *find = writer->statements[FILE_BY_PATH];
    return statement_bind_text(find, 1, path, error) ? -1 : find_file(find, error);
}

static int depart(struct writer *writer, int64_t id, struct error *error)
{
    return removal_note(&writer->removal, id, error) || remove_file(writer, id, error) ? -1 : 0;
}

static int remove_second_format(struct writer *writer, const char *path, const struct writer_facts *facts,
                                struct error *error)
{
    struct statement *find = writer->statements[FILE_OF_SECOND_FORMAT];
    if (statement_bind_text(find, 1, path, error) || statement_bind_text(find, 2, facts->dialect, error))
        return -1;
    int64_t id = find_file(find, error);
    return id > 0 ? depart(writer, id, error) : (int)id;
}

/* An earlier version may have stored a trace twice, compressed and uncompressed. */
static int remove_others(struct writer *writer, const char *path, const struct writer_facts *facts,
                         struct error *error)
{
    int64_t id;
    while ((id = find_content(writer, facts, error)) > 0)
        if (depart(writer, id, error))
            return -1;
    if (id == 0 && !facts->is_snapshot && (id = find_path(writer, path, error)) > 0)
        return map_get(&writer->met, (struct map_key){{(uint64_t)id}}) ? 0 : depart(writer, id, error);
    return (int)id;
}

static int add_ledger(struct writer *writer, int64_t file_id, const struct ledger *ledger,
                      struct error *error)
{
    struct statement *add = writer->statements[ADD_LEDGER];
    for (size_t i = 0; i < ledger->count; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (statement_bind_integer(add, 1, file_id, error) ||
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

static int add_file(struct writer *writer, const struct writer_file *file, const struct writer_facts *facts,
                    enum writer_outcome outcome, struct error *error)
{
    struct statement *add = writer->statements[ADD_FILE];
    static const char *const statuses[] = {
        [WRITER_INGESTED] = "ingested", [WRITER_OPEN] = "open", [WRITER_PARTIAL] = "partial"};
    if (statement_bind_integer(add, 1, file->target.file_id, error) ||
        statement_bind_text(add, 2, file->path, error) ||
        statement_bind_text(add, 3, file->file_set, error) ||
        statement_bind_text(add, 4, facts->dialect, error) ||
        statement_bind_text(add, 5, facts->digest, error) ||
        statement_bind_integer(add, 6, (int64_t)facts->bytes, error) ||
        statement_bind_integer(add, 7, (int64_t)facts->unpacked_bytes, error) ||
        statement_bind_text(add, 8, statuses[outcome], error) ||
        statement_bind_integer(add, 9, facts->events, error) ||
        statement_bind_integer(add, 10, ledger_total(facts->ledger), error) ||
        statement_bind_text(add, 11, facts->unpacked_digest, error) ||
        statement_bind_integer(add, 12, facts->modified_ns, error) ||
        statement_bind_text(add, 13, facts->reader, error) ||
        (facts->reader ? statement_bind_integer(add, 14, facts->reader_version, error)
                       : statement_bind_null(add, 14, error)) ||
        statement_step(add, error) < 0)
        return -1;
    return add_ledger(writer, file->target.file_id, facts->ledger, error);
}

static int keep_file(struct writer *writer, const struct writer_file *file, const struct writer_facts *facts,
                     enum writer_outcome outcome, struct error *error)
{
    if ((facts->continues && (run_for(writer, DROP_LEDGER, file->target.file_id, error) ||
                              run_for(writer, DROP_FILE, file->target.file_id, error))) ||
        remove_others(writer, file->path, facts, error) ||
        remove_second_format(writer, file->path, facts, error) ||
        add_file(writer, file, facts, outcome, error) ||
        run_for(writer, NOTE_ARRIVAL, file->target.file_id, error))
        return -1;
    writer->has_changed = 1;
    return 0;
}

static int move_file(struct writer *writer, int64_t id, const struct writer_file *file,
                     const struct writer_facts *facts, struct error *error)
{
    struct statement *move = writer->statements[MOVE_FILE];
    return statement_bind_integer(move, 1, id, error) || statement_bind_text(move, 2, file->path, error) ||
                   statement_bind_text(move, 3, file->file_set, error) ||
                   statement_bind_text(move, 4, facts->digest, error) ||
                   statement_bind_integer(move, 5, (int64_t)facts->bytes, error) ||
                   statement_step(move, error) < 0
               ? -1
               : 0;
}

/*
 * Whether the file is in the directory that stands for it. A copy is assigned to the directory of its
 * original.
 */
static int is_in_own_directory(const struct writer_file *file)
{
    size_t length = strlen(file->file_set);
    return strncmp(file->path, file->file_set, length) == 0 &&
           strrchr(file->path, '/') == file->path + length;
}

static int note_content_found(struct writer *writer, int64_t id, struct error *error)
{
    return map_put(&writer->met, (struct map_key){{(uint64_t)id}}, 1, NULL) ? 0 : error_no_memory(error);
}

/* Returns 0 instead of `known` if an earlier version of the reader read that file. */
static int64_t zero_if_outdated(struct writer *writer, int64_t known, const struct writer_facts *facts,
                                struct error *error)
{
    struct statement *find = writer->statements[FILE_READ_BEFORE];
    if (statement_bind_integer(find, 1, known, error) || statement_bind_text(find, 2, facts->reader, error) ||
        statement_bind_integer(find, 3, facts->reader_version, error))
        return -1;
    int64_t before = find_file(find, error);
    return before < 0 ? -1 : before ? 0 : known;
}

/* The file that has this content already and is kept; 0: none, -1: error. */
static int64_t find_stored_copy(struct writer *writer, const struct writer_facts *facts, struct error *error)
{
    int64_t known = facts->force ? 0 : find_content(writer, facts, error);
    if (known > 0 && facts->by_reader && facts->reader)
        known = zero_if_outdated(writer, known, facts, error);
    int keeps = known <= 0 || !facts->has_moved || map_get(&writer->met, (struct map_key){{(uint64_t)known}});
    return keeps ? known : 0;
}

int writer_finish(struct writer *writer, struct writer_file *file, const struct writer_facts *facts,
                  enum writer_outcome *outcome, struct error *error)
{
    int64_t known = facts->continues ? 0 : find_stored_copy(writer, facts, error);
    if (known > 0) {
        *outcome = WRITER_UNCHANGED;
        if (note_content_found(writer, known, error) ||
            (is_in_own_directory(file) && move_file(writer, known, file, facts, error)))
            return fail(writer);
        return writer_abandon(writer, file, error);
    }
    *outcome = ledger_damage(facts->ledger) ? WRITER_PARTIAL : facts->is_open ? WRITER_OPEN : WRITER_INGESTED;
    int failed = known < 0 || keep_file(writer, file, facts, *outcome, error) ||
                 (facts->has_moved && note_content_found(writer, file->target.file_id, error));
    writer_file_release(file);
    return failed ? fail(writer) : 0;
}

int writer_abandon(struct writer *writer, struct writer_file *file, struct error *error)
{
    int64_t id = file->target.file_id;
    int outcome = file->continues ? depart(writer, id, error) : remove_file(writer, id, error);
    writer_file_release(file);
    return outcome ? fail(writer) : 0;
}

int writer_is_due(const struct writer *writer)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return writer->in_transaction && (writer->transaction_bytes >= TRANSACTION_BYTES ||
                                      now.tv_sec - writer->begun.tv_sec >= TRANSACTION_SECONDS);
}

static int end_transaction(struct writer *writer, struct error *error)
{
    if ((writer->needs_sweep && removal_sweep(writer->store, error)) ||
        (writer->has_changed && store_set_fact(writer->store, "joined", 0, error)) ||
        store_commit(writer->store, error))
        return fail(writer);
    nanosleep(&(struct timespec){.tv_nsec = 3 * 1000 * 1000}, NULL);
    return 0;
}

int writer_commit(struct writer *writer, struct error *error)
{
    if (writer->failed)
        return error_set(error, "an earlier failure aborted the transaction");
    if (writer->in_transaction && end_transaction(writer, error))
        return -1;
    writer->in_transaction = writer->has_changed = writer->needs_sweep = 0;
    writer->transaction_bytes = 0;
    return 0;
}

/* Rows are handed on when they reach this size. */
enum { BATCH_BYTES = 1 << 20 };

void intake_init(struct intake *intake, struct batch *batch,
                 int (*full)(void *context, struct batch **batch, struct error *error), void *context)
{
    *intake = (struct intake){.batch = batch, .full = full, .context = context};
    batch_builder_init(&intake->builder);
    ledger_init(&intake->ledger);
}

void intake_release(struct intake *intake)
{
    batch_builder_release(&intake->builder);
    ledger_release(&intake->ledger);
}

static int hand_on(struct intake *intake, struct error *error)
{
    return batch_pack(&intake->builder, intake->batch, error) ||
                   intake->full(intake->context, &intake->batch, error)
               ? -1
               : 0;
}

int intake_event(void *context, const struct event *event, struct error *error)
{
    struct intake *intake = context;
    if (batch_add(&intake->builder, intake->batch, event, error) == 0 &&
        (batch_size_bytes(intake->batch) < BATCH_BYTES || hand_on(intake, error) == 0))
        return 0;
    intake->failed = 1;
    return -1;
}

int intake_end(struct intake *intake, struct error *error)
{
    if (batch_size_bytes(intake->batch) == 0 || hand_on(intake, error) == 0)
        return 0;
    intake->failed = 1;
    return -1;
}

int intake_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error)
{
    struct intake *intake = context;
    if (ledger_note(&intake->ledger, reason, damage, offset, detail, detail_length, error) == 0)
        return 0;
    intake->failed = 1;
    return -1;
}
