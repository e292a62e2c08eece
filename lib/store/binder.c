#include "store/binder.h"

void bind_integer(struct binder *binder, int64_t value)
{
    binder->failed |= sqlite3_bind_int64(binder->handle, binder->next++, value);
}

void bind_known(struct binder *binder, int64_t value, int64_t unknown)
{
    if (value == unknown)
        binder->failed |= sqlite3_bind_null(binder->handle, binder->next++);
    else
        bind_integer(binder, value);
}

void bind_count(struct binder *binder, int64_t value)
{
    bind_known(binder, value, COUNT_UNKNOWN);
}

void bind_time(struct binder *binder, int64_t value_ns)
{
    bind_known(binder, value_ns, TIME_UNKNOWN);
}

void bind_positive(struct binder *binder, double value)
{
    binder->failed |= value < 0 ? sqlite3_bind_null(binder->handle, binder->next++)
                                : sqlite3_bind_double(binder->handle, binder->next++, value);
}

void bind_interval(struct binder *binder, struct interval_ns interval)
{
    bind_time(binder, interval.begin_ns);
    bind_time(binder, interval.end_ns);
}

void bind_text(struct binder *binder, struct span span)
{
    binder->failed |= sqlite3_bind_text64(binder->handle, binder->next++, batch_bytes(binder->batch, span),
                                          span.length, SQLITE_STATIC, SQLITE_UTF8);
}

void bind_blob(struct binder *binder, struct span span)
{
    binder->failed |= sqlite3_bind_blob64(binder->handle, binder->next++, batch_bytes(binder->batch, span),
                                          span.length, SQLITE_STATIC);
}

int64_t record_id(const struct insert_target *target, int64_t ordinal)
{
    return (int64_t)((uint64_t)target->file_id << 32 | (uint64_t)(target->first_ordinal + ordinal));
}
