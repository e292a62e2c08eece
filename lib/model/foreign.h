#ifndef NCCLPROF_MODEL_FOREIGN_H
#define NCCLPROF_MODEL_FOREIGN_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Tables of another program's database, as a format that needs them gets them (lib/format/format.h,
 * read_tables) from who can open it (lib/store/foreign.h). Hostile as all input.
 */
enum foreign_kind { FOREIGN_NULL = 0, FOREIGN_INTEGER, FOREIGN_TEXT, FOREIGN_BLOB };

struct foreign_value {
    enum foreign_kind
        kind; /* FOREIGN_NULL also where the table has no such column; a real is cut to an integer */
    int64_t integer;
    const char *bytes; /* of a text (followed by a NUL) or blob: borrowed until the next call */
    size_t length;
};

enum { FOREIGN_COLUMNS = 16 };

struct foreign_tables {
    void *context;
    /*
     * Begins to read these columns of a table, FOREIGN_COLUMNS at most, row by row as they lie in the file;
     * what was being read before is left. 1; 0 where there is no such table; -1 where it cannot be read.
     */
    int (*open)(void *context, const char *table, const char *const *columns, size_t count,
                struct error *error);
    /* The next row: a value for each column. 1; 0 at the end; -1 where the rest cannot be read. */
    int (*next)(void *context, struct foreign_value *values, struct error *error);
};

#endif
