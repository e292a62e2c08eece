#ifndef NCCLPROF_FORMAT_NCCL_HEAD_H
#define NCCLPROF_FORMAT_NCCL_HEAD_H

#include "format/text.h"

/* What NCCL puts before each message of its log: "host:pid:tid [device] NCCL INFO ". */

enum level { LEVEL_INFO, LEVEL_WARN, LEVEL_CALL, LEVEL_TRACE };

struct head {
    enum level level;
    struct text before; /* what stands before it in the line: a launcher's or collector's, and the time */
    struct text host;   /* where another line was cut off, what is left of that stands before the name */
    int64_t pid;
    int64_t tid;
    int64_t device;      /* the thread's current one; -1: not said */
    struct text message; /* all the rest of the line */
};

/* The first head in a piece of a line. 0 where there is none. */
int head_find(struct text line, struct head *head);

#endif
