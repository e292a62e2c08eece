#ifndef NCCLPROF_BUFFERS_STORED_CALL_H
#define NCCLPROF_BUFFERS_STORED_CALL_H

#include "buffers/known_memory.h"
#include "store/scan.h"

/* What known_memory_judge asks of an operation, out of a block of which these columns are unpacked. */

enum { STORED_CALL_COLUMNS = 9 };
extern const int stored_call_columns[STORED_CALL_COLUMNS];

struct known_call stored_call(const struct block_scan *scan, const struct roster_member *member, size_t row);

#endif
