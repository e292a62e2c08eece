#ifndef NCCLPROF_STORE_FOREIGN_H
#define NCCLPROF_STORE_FOREIGN_H

#include "base/error.h"
#include "model/foreign.h"

/*
 * Another program's SQLite file, to be read and distrusted: never written to, nothing beside it looked at
 * (no journal, no locks), no views, triggers, virtual tables, functions or extensions; a table gives no more
 * rows than fit into the file, no value is longer than FOREIGN_VALUE_BYTES, and memory is bounded by a few
 * MiB and one row.
 */
struct foreign;

enum { FOREIGN_VALUE_BYTES = 16 << 20 };

/* `stopped` is asked now and then: true ends the reading; may be NULL. NULL with an error where it is no such
 * file. */
struct foreign *foreign_open(const char *path, int (*stopped)(void *context), void *context,
                             struct error *error);
void foreign_close(struct foreign *foreign);

/* Lives as long as `foreign` does. */
const struct foreign_tables *foreign_tables(const struct foreign *foreign);

#endif
