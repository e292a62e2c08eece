#include "ingest/merge.h"

#include "base/array.h"
#include "ingest/merge_ahead.h"
#include "store/ledger.h"
#include "store/store.h"
#include "store/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merging {
    struct merge *merge;
    struct store *store;
    struct writer *writer;
    struct merge_ahead *ahead;
    struct file_result *results; /* owned: one a file */
    size_t done;                 /* files */
    size_t safe;                 /* of these, are committed */
    uint64_t bytes;
};

/* ---- shards ---- */

static int is_same_shard(const struct shard *one, const struct shard *other)
{
    if (one->count > 1 || other->count > 1 || (*one->host && *other->host))
        return one->number == other->number && one->count == other->count &&
               strcmp(one->job, other->job) == 0 && (one->count > 1 || strcmp(one->host, other->host) == 0);
    return strcmp(one->path, other->path) == 0;
}

/* A number that no one came for is found anew each time. */
static int is_carried(const struct shard *shard)
{
    return shard->state != SHARD_MISSING || *shard->path;
}

/* Whether another source says of the same shard that more of it is there. */
static int is_said_better(const struct merge *merge, size_t source, const struct shard *shard)
{
    for (size_t i = 0; i < merge->plan.source_count; i++)
        for (size_t j = 0; i != source && j < merge->plan.sources[i].shards.count; j++) {
            const struct shard *other = &merge->plan.sources[i].shards.items[j];
            if (is_carried(other) && is_same_shard(shard, other) &&
                (other->state < shard->state || (other->state == shard->state && i < source)))
                return 1;
        }
    return 0;
}

/* What is to be said of a source, or of a shard that it was merged of itself. */
static struct shard what_is_said(const struct merge_source *source, const struct shard *of, int has_ended)
{
    static char none[] = "", not_ended[] = "its merge did not finish; merge it again";
    struct shard said = of ? *of : (struct shard){.job = none, .count = 1, .host = none, .path = none};
    if (!*said.path)
        said.path = source->path;
    if (source->why_lost) {
        said.state = SHARD_MISSING;
        said.reason = source->why_lost;
    } else if (!has_ended) {
        said.state = SHARD_UNFINISHED;
        said.reason = not_ended;
    } else if (source->why_damaged && said.state == SHARD_WHOLE) {
        said.state = SHARD_LACKING;
        said.reason = source->why_damaged;
    }
    return said;
}

static int write_shards_of(struct merging *merging, size_t number, int has_ended, struct error *error)
{
    const struct merge_source *source = &merging->merge->plan.sources[number];
    struct shard said = what_is_said(source, NULL, has_ended);
    if (!source->shards.count)
        return shard_write(merging->store, &said, error);
    for (size_t i = 0; i < source->shards.count; i++) {
        const struct shard *shard = &source->shards.items[i];
        if (!is_carried(shard) || is_said_better(merging->merge, number, shard))
            continue;
        said = what_is_said(source, shard, has_ended);
        if (shard_write(merging->store, &said, error))
            return -1;
    }
    return 0;
}

/* What the store says of its shards before the first file comes, or after the last one. */
static int write_shards(struct merging *merging, int has_ended, struct error *error)
{
    const struct merge *merge = merging->merge;
    if (store_begin(merging->store, error))
        return -1;
    int failed = store_set_shard(merging->store, merge->stays_shard, error);
    for (size_t i = 0; i < merge->plan.source_count && !failed; i++)
        failed = write_shards_of(merging, i, has_ended, error);
    if (!failed && has_ended)
        failed = shards_add_missing(merging->store, error);
    if (!failed && merge->expected)
        failed = store_set_fact(merging->store, "shards_expected", merge->expected, error);
    if (!failed && store_commit(merging->store, error) == 0)
        return 0;
    store_rollback(merging->store);
    return -1;
}

/* ---- files ---- */

/* Of a file that cannot be read: the first one of a source speaks for it. */
static int tell_fault(struct merge_source *source, struct file_result *result, struct error *error)
{
    if (error->is_no_memory)
        return -1;
    result->status = FILE_FAILED;
    result->reason = merge_tell_error(error);
    error_clear(error);
    if (!source->why_damaged &&
        asprintf(&source->why_damaged, "%s: %s", result->path, result->reason ? result->reason : "") < 0)
        source->why_damaged = NULL;
    return result->reason && source->why_damaged ? 0 : error_no_memory(error);
}

static int finish_file(struct merging *merging, const struct merge_file *file, struct writer_file *target,
                       const struct ledger *ledger, struct file_result *result, struct error *error)
{
    static const enum file_status statuses[] = {[WRITER_INGESTED] = FILE_INGESTED,
                                                [WRITER_OPEN] = FILE_OPEN,
                                                [WRITER_PARTIAL] = FILE_PARTIAL,
                                                [WRITER_UNCHANGED] = FILE_UNCHANGED};
    const struct stored_file *stored = file->stored;
    enum writer_outcome outcome;
    const struct writer_facts facts = {.dialect = stored->dialect,
                                       .digest = stored->digest,
                                       .unpacked_digest = stored->unpacked_digest,
                                       .bytes = (uint64_t)stored->bytes,
                                       .unpacked_bytes = (uint64_t)stored->unpacked_bytes,
                                       .events = stored->events,
                                       .modified_ns = stored->modified_ns,
                                       .reader = stored->reader,
                                       .reader_version = stored->reader_version,
                                       .by_reader = 1,
                                       .ledger = ledger,
                                       .is_open = stored->is_open,
                                       .is_snapshot = merge_is_snapshot(stored->dialect)};
    if (writer_finish(merging->writer, target, &facts, &outcome, error))
        return -1;
    result->status = statuses[outcome];
    return ingest_tell_ledger(ledger, result, error);
}

/* All rows of a file. 1, with `error` set: the source is at fault. */
static int copy_rows(struct merging *merging, size_t number, struct unload *load, struct writer_file *target,
                     struct error *error)
{
    for (;;) {
        int outcome = writer_unload(merging->writer, target, load, error);
        if (outcome || load->is_all)
            return outcome;
        if (merge_ahead_more(merging->ahead, number, load, error))
            return 1;
    }
}

/* 1, with `error` set: the source is at fault, and nothing of the file is kept. */
static int copy_file(struct merging *merging, size_t number, struct file_result *result, struct error *error)
{
    const struct merge_file *file = &merging->merge->plan.files[number];
    struct unload *load = merge_ahead_take(merging->ahead, number, error);
    struct writer_file target;
    if (!load)
        return 1;
    if (writer_begin(merging->writer, &target, (int64_t)number, 0, file->path, file->file_set, error))
        return -1;
    int outcome = copy_rows(merging, number, load, &target, error);
    if (outcome == 0)
        outcome = finish_file(merging, file, &target, &load->ledger, result, error);
    else if (outcome > 0 && writer_abandon(merging->writer, &target, error))
        outcome = -1;
    writer_file_release(&target);
    return outcome;
}

static int take_file(struct merging *merging, size_t number, struct error *error)
{
    struct merge *merge = merging->merge;
    const struct merge_file *file = &merge->plan.files[number];
    struct file_result *result = &merging->results[number];
    *result = (struct file_result){.path = file->path,
                                   .status = FILE_FAILED,
                                   .events = file->stored->events,
                                   .skipped = file->stored->skipped,
                                   .bytes = (uint64_t)file->stored->bytes};
    snprintf(result->dialect, sizeof result->dialect, "%s", file->stored->dialect);
    int outcome = copy_file(merging, number, result, error);
    merge_ahead_done(merging->ahead, number);
    if (outcome > 0)
        outcome = tell_fault(&merge->plan.sources[file->source], result, error);
    if (outcome)
        return -1;
    merge->hooks.tell(merge->hooks.context, result);
    merging->bytes += result->bytes;
    merge->hooks.progress(merge->hooks.context, number + 1, merging->bytes);
    return 0;
}

static int take_files(struct merging *merging, struct error *error)
{
    const struct merge_plan *plan = &merging->merge->plan;
    const struct ingest_hooks *hooks = &merging->merge->hooks;
    for (; merging->done < plan->file_count; merging->done++) {
        if (hooks->interrupted(hooks->context))
            break;
        if (take_file(merging, merging->done, error))
            return -1;
        if (!writer_is_due(merging->writer))
            continue;
        if (writer_commit(merging->writer, error))
            return -1;
        merging->safe = merging->done + 1;
    }
    if (writer_commit(merging->writer, error))
        return -1;
    merging->safe = merging->done;
    return merging->done < plan->file_count ? error_set(error, "interrupted") : 0;
}

static int is_new(enum file_status status)
{
    return status == FILE_INGESTED || status == FILE_OPEN || status == FILE_PARTIAL;
}

/* What is not committed is not in the store. */
static int give_results(struct merging *merging, struct error *error)
{
    const struct merge *merge = merging->merge;
    for (size_t i = 0; i < merging->done; i++) {
        if (i >= merging->safe && is_new(merging->results[i].status))
            merging->results[i].status = FILE_FAILED;
        if (merge->hooks.take(merge->hooks.context, &merging->results[i], error))
            return -1;
    }
    return 0;
}

/* A store that cannot be read is a file that failed. */
static int give_lost(const struct merge *merge, struct error *error)
{
    for (size_t i = 0; i < merge->plan.source_count; i++) {
        const struct merge_source *source = &merge->plan.sources[i];
        struct file_result result = {.path = source->given, .status = FILE_FAILED};
        if (!source->why_lost)
            continue;
        result.reason = strdup(source->why_lost);
        if (!result.reason)
            return error_no_memory(error);
        merge->hooks.tell(merge->hooks.context, &result);
        int failed = merge->hooks.take(merge->hooks.context, &result, error);
        free(result.reason);
        if (failed)
            return -1;
    }
    return 0;
}

static int has_readable(const struct merge_plan *plan)
{
    for (size_t i = 0; i < plan->source_count; i++)
        if (!plan->sources[i].why_lost)
            return 1;
    return 0;
}

static int write_all(struct merging *merging, struct error *error)
{
    merging->results = array_new(merging->merge->plan.file_count, sizeof *merging->results);
    if (!merging->results)
        return error_no_memory(error);
    if (write_shards(merging, 0, error) || !(merging->writer = writer_new(merging->store, error)) ||
        !(merging->ahead = merge_ahead_new(&merging->merge->plan, error)))
        return -1;
    int outcome = take_files(merging, error);
    if (give_results(merging, outcome ? NULL : error))
        outcome = -1;
    writer_free(merging->writer);
    merging->writer = NULL;
    return outcome || write_shards(merging, 1, error) ? -1 : 0;
}

static void release(struct merging *merging)
{
    merge_ahead_free(merging->ahead);
    for (size_t i = 0; merging->results && i < merging->merge->plan.file_count; i++)
        free(merging->results[i].reason);
    writer_free(merging->writer);
    free(merging->results);
}

int merge_run(struct merge *merge, struct store **store, const char *path, struct error *error)
{
    if (give_lost(merge, error))
        return -1;
    if (!*store && !has_readable(&merge->plan))
        return error_set(error, "none of the shards can be read");
    if (!*store && !(*store = store_open(path, STORE_CREATE, error)))
        return -1;
    struct merging merging = {.merge = merge, .store = *store};
    int outcome = write_all(&merging, error);
    release(&merging);
    return outcome;
}
