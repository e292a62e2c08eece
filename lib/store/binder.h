#ifndef NCCLPROF_STORE_BINDER_H
#define NCCLPROF_STORE_BINDER_H

#include "store/insert.h"
#include "store/internal.h"

/* Binds the values of one row after the other. Failures are remembered: they can only be lack of memory. */
struct binder {
    sqlite3_stmt *handle;
    const struct batch *batch;
    int next;
    int failed;
};

void bind_integer(struct binder *binder, int64_t value);
void bind_interval(struct binder *binder, struct interval_ns interval);

/* NULL where the value is the one that stands for unknown: COUNT_UNKNOWN, TIME_UNKNOWN, or what is below 0.
 */
void bind_known(struct binder *binder, int64_t value, int64_t unknown);
void bind_count(struct binder *binder, int64_t value);
void bind_time(struct binder *binder, int64_t value_ns);
void bind_positive(struct binder *binder, double value);

/* The batch outlives the statement's step, so SQLite need not copy. */
void bind_text(struct binder *binder, struct span span);
void bind_blob(struct binder *binder, struct span span);

/* The id of the record of that number in the file. */
int64_t record_id(const struct insert_target *target, int64_t ordinal);

#endif
