/*
 * Functions by which an application passes tags to libnccl-profiler-ncclprof.so. They are weak symbols: each
 * is null unless the library is linked or preloaded. See ncclprof-plugin(7).
 */
#ifndef NCCLPROF_TAG_H
#define NCCLPROF_TAG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sets the tag for what the process does from now on: if (ncclprof_tag) ncclprof_tag("forward"). Null or ""
 * ends the tag.
 */
void ncclprof_tag(const char *tag) __attribute__((weak));

/*
 * Names a number that operations are tagged with (userProfilerTag in ncclCollConfig_t, NCCL 2.31), for all
 * operations of the process: if (ncclprof_tag_name) ncclprof_tag_name(42, "forward"). A later name replaces
 * an earlier one.
 */
void ncclprof_tag_name(uint64_t number, const char *name) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
