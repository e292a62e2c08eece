#ifndef NCCLPROF_FORMAT_NSYS_NSYS_H
#define NCCLPROF_FORMAT_NSYS_NSYS_H

#include "format/format.h"

/* What `nsys export --type sqlite` makes of a report of NVIDIA's Nsight Systems. */
extern const struct format format_nsys;

#endif
