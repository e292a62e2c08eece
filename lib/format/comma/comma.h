#ifndef NCCLPROF_FORMAT_COMMA_COMMA_H
#define NCCLPROF_FORMAT_COMMA_COMMA_H

#include "format/format.h"

/* JSON lines of CoMMA, Google's profiler plugin (NCCL_PROFILER_LATENCY_FILE). */
extern const struct format format_comma;

#endif
