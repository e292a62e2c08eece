#include "store/intake.h"

#include "store/batch_pack.h"

/* Rows of so much memory are handed on at once. */
enum { BATCH_BYTES = 1 << 20 };

void intake_init(struct intake *intake, struct batch *batch,
                 int (*full)(void *context, struct batch **batch, struct error *error), void *context)
{
    *intake = (struct intake){.batch = batch, .full = full, .context = context};
    batch_builder_init(&intake->builder);
    ledger_init(&intake->ledger);
}

void intake_release(struct intake *intake)
{
    batch_builder_release(&intake->builder);
    ledger_release(&intake->ledger);
}

static int hand_on(struct intake *intake, struct error *error)
{
    return batch_pack(&intake->builder, intake->batch, error) ||
                   intake->full(intake->context, &intake->batch, error)
               ? -1
               : 0;
}

int intake_event(void *context, const struct event *event, struct error *error)
{
    struct intake *intake = context;
    if (batch_add(&intake->builder, intake->batch, event, error) == 0 &&
        (batch_size_bytes(intake->batch) < BATCH_BYTES || hand_on(intake, error) == 0))
        return 0;
    intake->failed = 1;
    return -1;
}

int intake_end(struct intake *intake, struct error *error)
{
    if (batch_size_bytes(intake->batch) == 0 || hand_on(intake, error) == 0)
        return 0;
    intake->failed = 1;
    return -1;
}

int intake_note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error)
{
    struct intake *intake = context;
    if (ledger_note(&intake->ledger, reason, damage, offset, detail, detail_length, error) == 0)
        return 0;
    intake->failed = 1;
    return -1;
}
