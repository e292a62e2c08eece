#ifndef NCCLPROF_FORMAT_PROMETHEUS_PROMETHEUS_H
#define NCCLPROF_FORMAT_PROMETHEUS_PROMETHEUS_H

#include "format/format.h"

/* The text that Inspector writes for Prometheus (NCCL_INSPECTOR_PROM_DUMP): averages, a file a GPU. */
extern const struct format format_prometheus;

#endif
