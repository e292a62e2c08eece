#ifndef NCCLPROF_FORMAT_TORCH_TORCH_H
#define NCCLPROF_FORMAT_TORCH_TORCH_H

#include "format/format.h"

/* What PyTorch prints of stuck process groups, of one rank or of several mixed, among whatever else was
 * printed. */
extern const struct format format_torch;

#endif
