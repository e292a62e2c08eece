#ifndef NCCLPROF_FORMAT_NCCL_UNNAMED_H
#define NCCLPROF_FORMAT_NCCL_UNNAMED_H

#include "base/map.h"
#include "format/format.h"
#include "format/nccl/message.h"
#include "format/nccl/said.h"
#include "format/nccl/speakers.h"

/*
 * Calls on communicators that the log does not name: their Init lines are not in it, or are of NCCL
 * before 2.18 and tell no commId. Which ranks they are of is not known; how many each process made is
 * counted.
 */
struct unnamed {
    int64_t speaker;
    int64_t ranks;   /* COUNT_UNKNOWN */
    int64_t device;  /* of the thread that called first; -1 */
    int is_old;      /* its Init line tells no commId */
    uint64_t offset; /* of the first call */
    int64_t calls[FUNCTION_COUNT];
};

struct unnamed_list {
    struct unnamed *items; /* owned */
    size_t count;
    size_t capacity;
    struct map by_address; /* speaker, address -> of `items` */
};

void unnamed_init(struct unnamed_list *list);
void unnamed_release(struct unnamed_list *list);

/* An Init line without commId. -1: no memory. */
int unnamed_take_init(struct unnamed_list *list, const struct said *said, const struct message_init *init);

/* A call. Whether NCCL before 2.18 made it; -1: no memory. */
int unnamed_take_call(struct unnamed_list *list, const struct said *said, const struct message_call *call);

/* Tells them, as losses: of each process, device, function and number of ranks so many. -1 on failure. */
int unnamed_tell(const struct unnamed_list *list, const struct speakers *speakers,
                 const struct format_sink *sink, struct error *error);

#endif
