#ifndef NCCLPROF_STORE_INTAKE_H
#define NCCLPROF_STORE_INTAKE_H

#include "store/batch.h"
#include "store/ledger.h"

/*
 * One file on its way into the store, at the side that parses: takes events and notes (its two functions fit
 * a format_sink) and makes batches of rows of them. It knows nothing of the store, so any thread may run it.
 */
struct intake {
    struct batch_builder builder;
    struct ledger ledger;
    struct batch *batch; /* the one being filled */
    int failed;          /* something here failed, so that a reader's failure is not the file's */
    void *context;
    /* Takes the full batch (its operations packed) away and gives an empty one in its place. */
    int (*full)(void *context, struct batch **batch, struct error *error);
};

/* `batch` is empty; intake never frees it. */
void intake_init(struct intake *intake, struct batch *batch,
                 int (*full)(void *context, struct batch **batch, struct error *error), void *context);
void intake_release(struct intake *intake);

/* The file is at its end: hands on what is left. */
int intake_end(struct intake *intake, struct error *error);

int intake_event(void *intake, const struct event *event, struct error *error);
int intake_note(void *intake, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error);

#endif
