#ifndef NCCLPROF_FORMAT_TORCH_WATCHDOG_H
#define NCCLPROF_FORMAT_TORCH_WATCHDOG_H

#include "format/text.h"

/*
 * What the watchdog of torch's ProcessGroupNCCL prints of a rank and a group, in the words of torch 2.1
 * to 2.12:
 *
 *     [rank0]:[E1125 01:03:54.92 ProcessGroupNCCL.cpp:689] [Rank 0] Watchdog caught collective operation
 * timeout: WorkNCCL(SeqNum=53, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=15000) ran for ...
 *     [rank0]:[E1125 ...] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at work
 * sequence id: 53 PG status: last enqueued work: 61, last completed work: 52
 */
struct watchdog_line {
    int64_t global_rank; /* by what its launcher or torch put before it; COUNT_UNKNOWN */
    int64_t rank;        /* in the group; COUNT_UNKNOWN */
    struct text group;   /* its name; empty: not said */
    struct text description;
    int64_t enqueued; /* numbers of works, COUNT_UNKNOWN: not said; -1 as torch prints it is 0 here */
    int64_t completed;
    int64_t failed;        /* that timed out or failed; COUNT_UNKNOWN */
    struct text operation; /* "ALLREDUCE"; empty: not said */
    int64_t elements;      /* that went in; COUNT_UNKNOWN */
    int lost_peer;         /* it failed since a connection or a process was lost: no timeout */
};

/* 1 where a line says one of these, else 0. */
int watchdog_read(struct text line, struct watchdog_line *said);

#endif
