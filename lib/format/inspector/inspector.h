#ifndef NCCLPROF_FORMAT_INSPECTOR_INSPECTOR_H
#define NCCLPROF_FORMAT_INSPECTOR_INSPECTOR_H

#include "format/format.h"

/* JSON lines of NVIDIA's Inspector plugin, NCCL 2.28 on, and of the bundled plugin. */
extern const struct format format_inspector;

#endif
