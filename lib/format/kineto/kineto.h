#ifndef NCCLPROF_FORMAT_KINETO_KINETO_H
#define NCCLPROF_FORMAT_KINETO_KINETO_H

#include "format/format.h"

/* Traces of PyTorch's profiler (Kineto), torch 2.1 on, of NVIDIA's and AMD's GPUs. */
extern const struct format format_kineto;

#endif
