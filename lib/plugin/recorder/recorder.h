/*
 * When recording begins and ends, for every API version's entry points: with the first communicator, and with
 * the process. Init and finalize always succeed as far as NCCL can tell.
 */
#ifndef PLUGIN_RECORDER_RECORDER_H
#define PLUGIN_RECORDER_RECORDER_H

#include <stdint.h>

#include "plugin/ring/api.h"
#include "plugin/ring/communicator.h"

/*
 * Adds a communicator, whose mask is set here; the first one opens the files. supported: event types that
 * this API version knows. Writes the context for NCCL (null: not recorded) and the activation mask; that
 * stays as it is where others are recorded and this one could not be added in time: NCCL has one for all.
 */
void recorder_init(void **context, int *mask, uint32_t supported, struct communicator *communicator,
                   api_logger *logger);

void recorder_finalize(void *context);

#endif
