#ifndef NCCLPROF_ANALYSE_BUFFERS_CAUTIONS_H
#define NCCLPROF_ANALYSE_BUFFERS_CAUTIONS_H

#include "buffers/shares.h"
#include "model/table.h"

/* What an answer about registered memory rests on, what it lacks, and what would record that. */
int caution_buffers(const struct shares *shares, const struct known_memory *known, struct table *table,
                    struct error *error);

/* That calls count as registered by a rule of which nothing tells that it was in force. */
int caution_snapshot_rule(int64_t calls, struct table *table, struct error *error);

#endif
