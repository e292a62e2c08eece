#ifndef NCCLPROF_FORMAT_FLIGHT_RECORDER_EMIT_H
#define NCCLPROF_FORMAT_FLIGHT_RECORDER_EMIT_H

#include "format/flight_recorder/dump.h"

/*
 * Hands a dump over as events: the process, its groups as communicators (named, since NCCL's hash is not in
 * a dump), how far they came, and the calls. `bytes` of the file bound how much of what is shared is told of
 * each: groups beyond that are noted as damage, and so are their calls. Times are CLOCK_REALTIME. When a
 * watchdog saw a call begin is given for what is open alone; when it saw one end is no end, and not given.
 */
int dump_emit(const struct dump *dump, int64_t rank, size_t bytes, const struct format_sink *sink,
              struct error *error);

/* Where a rank has no dump: that it is there, and why there is none (dump->no_dump). */
int dump_emit_failure(const struct dump *dump, int64_t rank, const struct format_sink *sink,
                      struct error *error);

#endif
