#ifndef NCCLPROF_FORMAT_TORCH_READER_H
#define NCCLPROF_FORMAT_TORCH_READER_H

#include "format/torch/launcher.h"
#include "format/torch/ranks.h"
#include "format/torch/wrapped.h"

/* The lines of a file, taken one after the other: which record they are of, and who speaks. */

/* Whose lines those that follow a record are. */
struct torch_speaker {
    int64_t rank; /* in its group; COUNT_UNKNOWN: nobody speaks */
    int64_t global_rank;
    int64_t group; /* text; -1 */
};

/* An error of NCCL or CUDA: what it was due to stands in the lines behind. */
struct torch_failure {
    struct torch_speaker of;
    struct buffer text;
    int64_t number; /* of the work; COUNT_UNKNOWN */
    uint64_t offset;
    int lines_left; /* that may be of it; 0: there is none */
};

/* A desync report: which ranks it lists. */
struct torch_report {
    int is_snapshot;
    int64_t listed;                 /* ranks, each once where it is true */
    int64_t greatest;               /* of them; -1 */
    int64_t lagging;                /* the number of what `unfinished` did not finish */
    int64_t furthest;               /* the greatest number that others began */
    struct torch_remark unfinished; /* held until it is known whether others came further */
    struct text unfinished_ranks;   /* in `line` */
    struct buffer line;
};

struct torch_reader {
    struct torch_ranks ranks;
    struct wrapped_record record;
    struct torch_speaker speaker;
    struct torch_failure failure;
    struct torch_report report;
    struct launcher_state launcher;
    struct map tracebacks; /* global ranks whose program prints one -> 1 */
    struct map echoes; /* global ranks that others' ends raised an exception on: a later one is of it -> 1 */
};

void torch_reader_init(struct torch_reader *reader);
void torch_reader_release(struct torch_reader *reader);

/* 1: the line says nothing that is taken in; 0: it does; -1: no memory. */
int torch_reader_take(struct torch_reader *reader, struct text line, uint64_t offset);

/* The file's end. -1: no memory. */
int torch_reader_end(struct torch_reader *reader);

#endif
