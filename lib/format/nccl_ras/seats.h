#ifndef NCCLPROF_FORMAT_NCCL_RAS_SEATS_H
#define NCCLPROF_FORMAT_NCCL_RAS_SEATS_H

#include "base/intern.h"
#include "format/format.h"
#include "input/json.h"

/*
 * Who is in the communicators of a RAS dump, and how many operations each rank has launched there: NCCL
 * counts them for each function apart (comm->seqNumber), from 0, and numbers them so. Fields: NVIDIA/nccl,
 * src/ras/client_support.cc, jsonWriteRankData().
 */

/* In the order of NCCL's ncclFunc_t: what RAS counts. Sends and receives it does not. */
enum { RAS_FUNCTIONS = 5 };

struct ras_seat {
    uint64_t communicator_hash;
    int64_t communicator_size; /* 0: not said */
    int64_t host;              /* its text's number; -1: not said */
    int64_t pid;
    int64_t rank;
    int64_t gpu;
    int64_t counts[RAS_FUNCTIONS]; /* COUNT_UNKNOWN: not said */
    uint64_t offset;
};

struct ras_seats {
    struct ras_seat *items; /* owned, communicator by communicator */
    size_t count;
    size_t capacity;
    struct intern texts;
    uint64_t communicator_hash; /* of what is read now */
    int64_t communicator_size;
    int64_t at_ns; /* when the dump was made, by the clock on the wall there; TIME_UNKNOWN */
};

void ras_seats_init(struct ras_seats *seats);
void ras_seats_release(struct ras_seats *seats);

/* Takes a rank's object. 0, or -1 when memory is out. */
int ras_seats_add(struct ras_seats *seats, struct json *json, uint64_t offset);

/*
 * Hands over all: who is where, then the last operation of each function that all members launched, then
 * those that only some did, so that nothing common comes after what some wait in.
 */
int ras_seats_end(const struct ras_seats *seats, const struct format_sink *sink, struct error *error);

#endif
