#ifndef NCCLPROF_FORMAT_NSYS_PAYLOAD_H
#define NCCLPROF_FORMAT_NSYS_PAYLOAD_H

#include "model/foreign.h"

/*
 * What NCCL says of a call beside its name: a payload of NVTX, in the layout that NCCL registered for it and
 * the export lists (NVTX_PAYLOAD_SCHEMA_ENTRIES). In front of the values stand 32 bytes: domain, layout and
 * sizes. Names of values: NVIDIA/nccl, src/include/nvtx_payload_schemas.h.
 */
enum nsys_field {
    NSYS_COMMUNICATOR = 0, /* hash; from NCCL 2.25 on */
    NSYS_BYTES,
    NSYS_ROOT,
    NSYS_PEER,
    NSYS_RANKS,
    NSYS_RANK,
    NSYS_DEVICE,
    NSYS_FIELDS
};

struct nsys_payload {
    int is_there[NSYS_FIELDS];
    int64_t value[NSYS_FIELDS]; /* bits of a hash */
};

struct nsys_layout {
    int64_t domain;
    int64_t schema;
    enum nsys_field field;
    size_t offset; /* in the values */
};

struct nsys_layouts {
    struct nsys_layout *items; /* owned */
    size_t count;
    size_t capacity;
};

void nsys_layouts_release(struct nsys_layouts *layouts);

/* Reads the export's list; one that is not there leaves it empty. -1 with an error where it cannot be read.
 */
int nsys_layouts_read(struct nsys_layouts *layouts, const struct foreign_tables *tables, struct error *error);

/* Takes what a payload says. What is too short for its layout says nothing. */
void nsys_payload_take(const struct nsys_layouts *layouts, const struct foreign_value *blob,
                       struct nsys_payload *payload);

#endif
