#ifndef NCCLPROF_FORMAT_TORCH_DESYNC_H
#define NCCLPROF_FORMAT_TORCH_DESYNC_H

#include "format/text.h"

#include <stddef.h>

/*
 * The lines of a desync report, which a rank makes of what all ranks noted in torch's store
 * (TORCH_NCCL_DESYNC_DEBUG=1):
 *
 *     - To our best knowledge, ranks [3] are the lagging ranks that caused this timeout. They never joined
 * any collectives [7] finished collective #182, but didn't join collective #183 (count from 1)
 *     - [2] joined but didn't finish collective #9 (count from 1)
 *     - Snapshot of ranks' latest states:
 *       #183 started ranks:
 *         [0, 1] started ALLREDUCE
 */
enum desync_kind {
    DESYNC_NONE = 0,
    DESYNC_NEVER_JOINED, /* of what others joined, or anything */
    DESYNC_UNFINISHED,   /* it joined, and its GPU did not get past what others did */
    DESYNC_SNAPSHOT,     /* from here on the state of each rank is listed */
    DESYNC_NUMBER,       /* ... that of this collective */
    DESYNC_STATE
};

struct desync_line {
    enum desync_kind kind;
    struct text ranks; /* within their brackets; empty where none are listed */
    struct text said;  /* the line without what is before its words */
    int64_t number;    /* of the collective; COUNT_UNKNOWN */
    int is_started;    /* of DESYNC_NUMBER: these ranks have begun it, else ended it */
};

/* 1 where a line is of such a report, else 0. */
int desync_read(struct text line, struct desync_line *read);

/* The next rank of a list, taken from it; COUNT_UNKNOWN: there is none left. */
int64_t desync_next_rank(struct text *ranks);

#endif
