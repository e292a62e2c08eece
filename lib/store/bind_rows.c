#include "store/bind_rows.h"

#include "store/internal.h"

/* Binds the values of one row after the other. Failures are remembered: they can only be lack of memory. */
struct binder {
    sqlite3_stmt *handle;
    const struct batch *batch;
    int next;
    int failed;
};

static void bind_integer(struct binder *binder, int64_t value)
{
    binder->failed |= sqlite3_bind_int64(binder->handle, binder->next++, value);
}

/* NULL where the value is the one that stands for unknown. */
static void bind_known(struct binder *binder, int64_t value, int64_t unknown)
{
    if (value == unknown)
        binder->failed |= sqlite3_bind_null(binder->handle, binder->next++);
    else
        bind_integer(binder, value);
}

static void bind_count(struct binder *binder, int64_t value)
{
    bind_known(binder, value, COUNT_UNKNOWN);
}

static void bind_time(struct binder *binder, int64_t value_ns)
{
    bind_known(binder, value_ns, TIME_UNKNOWN);
}

static void bind_interval(struct binder *binder, struct interval_ns interval)
{
    bind_time(binder, interval.begin_ns);
    bind_time(binder, interval.end_ns);
}

/* The batch outlives the statement's step, so SQLite need not copy. */
static void bind_text(struct binder *binder, struct span span)
{
    binder->failed |= sqlite3_bind_text64(binder->handle, binder->next++, batch_bytes(binder->batch, span),
                                          span.length, SQLITE_STATIC, SQLITE_UTF8);
}

static void bind_blob(struct binder *binder, struct span span)
{
    binder->failed |= sqlite3_bind_blob64(binder->handle, binder->next++, batch_bytes(binder->batch, span),
                                          span.length, SQLITE_STATIC);
}

static int64_t record_id(const struct insert_target *target, int64_t ordinal)
{
    return (int64_t)((uint64_t)target->file_id << 32 | (uint64_t)(target->first_ordinal + ordinal));
}

static void bind_block(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_block *row = &binder->batch->blocks.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->members[row->member].id);
    bind_integer(binder, row->operations);
    bind_integer(binder, row->tagged);
    bind_integer(binder, row->earliest_ns);
    bind_integer(binder, row->latest_ns);
    bind_count(binder, row->greatest_peer);
    bind_time(binder, row->clock_distance_ns);
    binder->failed |= sqlite3_bind_blob64(
        binder->handle, binder->next++, binder->batch->packed.data + row->offset, row->length, SQLITE_STATIC);
}

static void bind_proxy(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_proxy *row = &binder->batch->proxies.items[at];
    const struct proxy_operation *proxy = &row->proxy;
    bind_integer(binder, record_id(target, row->ordinal));
    bind_known(binder, proxy->operation < 0 ? -1 : record_id(target, proxy->operation), -1);
    bind_known(binder, row->member < 0 ? -1 : target->members[row->member].id, -1);
    bind_integer(binder, proxy->direction);
    bind_integer(binder, proxy->channel);
    bind_integer(binder, proxy->peer);
    bind_integer(binder, proxy->step_count);
    bind_count(binder, proxy->chunk_bytes);
    bind_count(binder, proxy->transferred_bytes);
    bind_time(binder, proxy->schedule.begin_ns);
    bind_interval(binder, proxy->progress);
    bind_integer(binder, (int64_t)row->offset);
    bind_blob(binder, row->states);
    bind_blob(binder, row->steps);
    bind_integer(binder, (int64_t)proxy->steps_recorded);
    bind_integer(binder, proxy->continued != 0);
}

static void bind_tag(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_tag *row = &binder->batch->tags.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->processes[row->process]);
    bind_known(binder, row->member < 0 ? -1 : target->members[row->member].id, -1);
    bind_integer(binder, row->tag.at_ns);
    bind_integer(binder, row->tag.depth);
    bind_integer(binder, row->tag.is_end != 0);
    bind_text(binder, row->text);
}

static void bind_tag_name(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_tag_name *row = &binder->batch->tag_names.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->processes[row->process]);
    bind_integer(binder, (int64_t)row->number);
    bind_time(binder, row->at_ns);
    bind_text(binder, row->text);
}

static void bind_anchor(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_anchor *row = &binder->batch->anchors.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->processes[row->process]);
    bind_integer(binder, row->anchor.local_ns);
    bind_time(binder, row->anchor.monotonic_ns);
    bind_time(binder, row->anchor.realtime_ns);
    bind_text(binder, row->boot_id);
}

static void bind_loss(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_loss *row = &binder->batch->losses.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->processes[row->process]);
    bind_text(binder, row->what);
    bind_integer(binder, row->events);
    bind_known(binder, row->member < 0 ? -1 : target->members[row->member].id, -1);
    bind_integer(binder, row->is_total != 0);
}

static void bind_status(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_status *row = &binder->batch->statuses.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->processes[row->process]);
    bind_known(binder, row->member < 0 ? -1 : target->members[row->member].id, -1);
    bind_text(binder, row->name);
    bind_text(binder, row->description);
    bind_text(binder, row->function);
    bind_count(binder, row->status.enqueued);
    bind_count(binder, row->status.started);
    bind_count(binder, row->status.completed);
    bind_count(binder, row->status.timed_out);
    bind_known(binder, row->status.at_ns, TIME_UNKNOWN);
}

static void bind_fact(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_fact *row = &binder->batch->facts.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->processes[row->process]);
    bind_known(binder, row->member < 0 ? -1 : target->members[row->member].id, -1);
    bind_count(binder, row->facts.global_rank);
    bind_count(binder, row->facts.world_size);
    bind_count(binder, row->facts.local_rank);
    bind_count(binder, row->facts.gpu);
    bind_text(binder, row->texts[FACT_BUS_ID]);
    bind_text(binder, row->texts[FACT_SERIAL]);
    bind_text(binder, row->texts[FACT_NIC]);
    bind_text(binder, row->texts[FACT_HOST]);
    bind_text(binder, row->texts[FACT_RANK_NAME]);
    bind_text(binder, row->texts[FACT_ADDRESS]);
}

/* Columns of parts follow enum start_part. */
static void bind_start(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_start *row = &binder->batch->starts.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->processes[row->process]);
    bind_known(binder, row->member < 0 ? -1 : target->members[row->member].id, -1);
    bind_text(binder, row->function);
    bind_known(binder, (int64_t)row->start.parent_hash, 0);
    bind_time(binder, row->start.begin_ns);
    bind_time(binder, row->start.end_ns);
    bind_integer(binder, row->start.is_complete != 0);
    bind_time(binder, row->start.total_ns);
    for (int i = 0; i < START_PARTS; i++)
        bind_time(binder, row->start.parts_ns[i]);
}

static void bind_warning(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_warning *row = &binder->batch->warnings.items[at];
    bind_integer(binder, record_id(target, row->ordinal));
    bind_integer(binder, target->processes[row->process]);
    bind_integer(binder, (int64_t)row->warning.kind);
    bind_time(binder, row->warning.at_ns);
    bind_count(binder, row->warning.gpu);
    bind_integer(binder, row->warning.calls);
    bind_count(binder, row->warning.status);
    bind_text(binder, row->nic);
    bind_text(binder, row->peer);
    bind_text(binder, row->text);
    bind_integer(binder, (int64_t)row->offset);
}

static void bind_registration(struct binder *binder, const struct insert_target *target, size_t at)
{
    const struct batch_registration *row = &binder->batch->registrations.items[at];
    const struct registration *said = &row->registration;
    bind_integer(binder, record_id(target, row->ordinal));
    bind_known(binder, row->process < 0 ? -1 : target->processes[row->process], -1);
    bind_known(binder, row->member < 0 ? -1 : target->members[row->member].id, -1);
    bind_integer(binder, said->kind);
    bind_integer(binder, said->way);
    bind_known(binder, (int64_t)said->address, 0);
    bind_known(binder, said->bytes, 0);
    bind_count(binder, said->device);
    bind_count(binder, said->global_rank);
    bind_interval(binder, said->alive);
    bind_known(binder, said->function, FUNCTION_UNKNOWN);
    bind_count(binder, said->number);
    bind_blob(binder, row->calls);
}

static void (*const binders[BULK_TABLES])(struct binder *, const struct insert_target *, size_t) = {
    [BULK_BLOCK] = bind_block,
    [BULK_PROXY] = bind_proxy,
    [BULK_TAG] = bind_tag,
    [BULK_TAG_NAME] = bind_tag_name,
    [BULK_ANCHOR] = bind_anchor,
    [BULK_LOSS] = bind_loss,
    [BULK_FACT] = bind_fact,
    [BULK_STATUS] = bind_status,
    [BULK_START] = bind_start,
    [BULK_WARNING] = bind_warning,
    [BULK_REGISTRATION] = bind_registration,
};

int bind_rows(struct statement *statement, const struct batch *batch, const struct insert_target *target,
              enum bulk_table table, size_t first, size_t rows)
{
    struct binder binder = {.handle = statement->handle, .batch = batch, .next = 1};
    for (size_t i = 0; i < rows; i++)
        binders[table](&binder, target, first + i);
    return binder.failed ? -1 : 0;
}
