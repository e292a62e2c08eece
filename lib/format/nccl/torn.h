#ifndef NCCLPROF_FORMAT_NCCL_TORN_H
#define NCCLPROF_FORMAT_NCCL_TORN_H

#include "base/buffer.h"
#include "format/text.h"

/*
 * Lines that another process's line cut in two, where several write to one file: the rest stands by itself
 * further down. The newest few are held until it comes.
 */
enum { TORN_HELD = 32 };

struct torn_line {
    int64_t speaker;
    uint64_t offset;
    int64_t at_ns;
    struct buffer text; /* of the message, as far as it came */
};

struct torn {
    struct torn_line lines[TORN_HELD];
    size_t count;
};

void torn_release(struct torn *torn);

/* Holds a piece. -1: no memory. `*dropped` is the speaker whose piece made room; -1. */
int torn_hold(struct torn *torn, int64_t speaker, uint64_t offset, int64_t at_ns, struct text text,
              int64_t *dropped);

/* Puts `rest` behind the piece of a number; it goes on from there as one. -1: no memory. */
int torn_join(struct torn *torn, size_t number, struct text rest, struct buffer *whole);

/* Forgets one. */
void torn_drop(struct torn *torn, size_t number);

#endif
