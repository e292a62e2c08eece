#ifndef NCCLPROF_VERDICT_LONGER_STEPS_TEXT_H
#define NCCLPROF_VERDICT_LONGER_STEPS_TEXT_H

#include "model/table.h"
#include "network/transfer_excess.h"
#include "verdict/longer_steps.h"

/*
 * Warns of the longer steps that lost most and that no finding explains: which, by how much, which operation
 * grew and who came last there. And of steps that became longer with the bytes of their operations, which is
 * load and no fault.
 */
int caution_longer_steps(const struct job *job, const struct baseline *baseline,
                         const struct transfer_excess *transfers, const struct longer_steps *longer,
                         struct table *table, struct error *error);

/* [{"first_step", "last_step", "usual_us", "took_us", "explained"}]: -1 when memory is out. */
int longer_steps_add_json(const struct longer_steps *longer, const struct job *job, struct buffer *json);

#endif
