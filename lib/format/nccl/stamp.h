#ifndef NCCLPROF_FORMAT_NCCL_STAMP_H
#define NCCLPROF_FORMAT_NCCL_STAMP_H

#include "format/text.h"

/*
 * The last time of day with its date in what stands before a line: NCCL's own (NCCL_DEBUG_TIMESTAMP_FORMAT,
 * local time without a zone), or that of who collected the lines. "2026-03-02 10:15:00", with T between the
 * two, decimals behind a point or comma, Z or +01:00 at the end. Nanoseconds since 1970-01-01 00:00, UTC
 * where it has a zone, else of the clock on the wall; TIME_UNKNOWN where there is none. `*decimals`: how many
 * digits of a second it has.
 */
int64_t stamp_find(struct text prefix, int *decimals);

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
int64_t stamp_days(int64_t year, int64_t month, int64_t day);

#endif
