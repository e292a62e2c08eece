#ifndef NCCLPROF_FORMAT_NCCL_REGISTRATIONS_H
#define NCCLPROF_FORMAT_NCCL_REGISTRATIONS_H

#include "base/map.h"
#include "format/nccl/message_registration.h"
#include "format/nccl/speakers.h"

/*
 * Whose a line about registered memory is. Lines of calls name no communicator: they stand behind the line of
 * their call, of grouped calls behind those of all, on the same thread, with one of its buffers.
 */

/* As many calls as are looked through for one: a group is mostly smaller. */
enum { REGISTRATION_CALLS = 1024 };

struct recent_call {
    int64_t speaker;
    int64_t thread;
    int64_t seat;
    enum function function;
    int64_t number; /* of its function on its communicator */
    uint64_t send_buffer;
    uint64_t receive_buffer;
    unsigned told; /* bits: what has been told of it */
};

/* Memory that a call found registered, by what a line about its end will call it. */
struct registered_memory {
    int64_t seat;
    uint64_t address;
};

struct registrations {
    struct recent_call *calls;        /* owned: a ring of REGISTRATION_CALLS */
    size_t call_count;                /* so far */
    struct map by_handle;             /* speaker, handle -> of `memory` */
    struct registered_memory *memory; /* owned */
    size_t memory_count;
    size_t memory_capacity;
};

void registrations_init(struct registrations *registrations);
void registrations_release(struct registrations *registrations);

/* A call that a line tells of. -1: no memory. */
int registrations_call(struct registrations *registrations, const struct recent_call *call);

/*
 * What a line says, with the seat whose it is. 1; 0 where that has been told of the call already, or nobody
 * is found whose it is (*seat is NULL); -1: no memory. Calls are borrowed from the seat.
 */
int registrations_take(struct registrations *registrations, const struct speakers *speakers, int64_t speaker,
                       int64_t thread, const struct message_registration *said,
                       struct registration *registration, const struct seat **seat);

#endif
