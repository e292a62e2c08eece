#ifndef NCCLPROF_FORMAT_INSPECTOR_CUT_H
#define NCCLPROF_FORMAT_INSPECTOR_CUT_H

#include <stddef.h>
#include <stdint.h>

/* How Inspector files are told from others, and where they can be cut: as format.h has it. */
const char *inspector_why_nothing(const char *path, uint64_t bytes);
int inspector_sniff(const char *bytes, size_t length, const char *path);
size_t inspector_cut(const char *bytes, size_t length);

#endif
