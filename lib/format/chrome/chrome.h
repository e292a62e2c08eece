#ifndef NCCLPROF_FORMAT_CHROME_CHROME_H
#define NCCLPROF_FORMAT_CHROME_CHROME_H

#include "format/format.h"

/* Chrome traces of NVIDIA's example profiler plugin, NCCL 2.23 on, and of the bundled plugin. */
extern const struct format format_chrome;

#endif
