#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_RANK_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_RANK_H

#include "format/flight_recorder/dump.h"

struct dump_rank {
    int64_t rank;          /* global; COUNT_UNKNOWN */
    int name_is_otherwise; /* the file's name ends with another number, which the content rules out */
};

/*
 * Which rank wrote a dump: nothing in it says so. A file's name ends with it as torch gives names. What the
 * dump holds can rule that out: a send or receive names its own rank in its group, and every group of
 * pg_config has the rank in it. Where only one rank is left by that, it is that one.
 * -1 when memory is out.
 */
int dump_rank(const struct dump *dump, const char *path, struct dump_rank *found);

#endif
