#ifndef NCCLPROF_FORMAT_TORCH_EMIT_H
#define NCCLPROF_FORMAT_TORCH_EMIT_H

#include "format/torch/ranks.h"

/*
 * Hands over what was taken in and settled: each rank of a group with its status, the work that it waits in
 * as a call that did not end, and what lines say beside as warnings. What a rank waits in where it says only
 * what completed last is the next one.
 */
int torch_emit(const struct torch_ranks *ranks, const struct format_sink *sink, struct error *error);

#endif
