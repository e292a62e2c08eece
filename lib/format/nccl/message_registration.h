#ifndef NCCLPROF_FORMAT_NCCL_MESSAGE_REGISTRATION_H
#define NCCLPROF_FORMAT_NCCL_MESSAGE_REGISTRATION_H

#include "format/text.h"
#include "model/event.h"

/*
 * "register comm 0x1 buffer 0x2 size 3", and that a call used what was registered, failed to, or that it is
 * so no longer. A line of a call tells the rank, none the communicator.
 */
struct message_registration {
    enum registration_kind kind;
    enum registration_way way;
    uint64_t communicator; /* of REGISTRATION_MADE alone */
    int64_t rank;          /* in it, of the others; COUNT_UNKNOWN */
    uint64_t address;      /* 0: only the handle is told */
    uint64_t second;       /* the other buffer, where the line tells two; 0 */
    uint64_t
        handle; /* by which a later line tells that it ended: the network's, or where its memory begins; 0 */
    int64_t bytes; /* of REGISTRATION_MADE alone */
};
int message_read_registration(struct text message, struct message_registration *registration);

#endif
