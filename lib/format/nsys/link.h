#ifndef NCCLPROF_FORMAT_NSYS_LINK_H
#define NCCLPROF_FORMAT_NSYS_LINK_H

#include "format/nsys/profile.h"

/*
 * Which kernel does which call's work. A call launches its kernel itself, or, in a group, the group's end
 * does for all calls of it on that thread: those since the launch before. Where calls of several
 * communicators wait for a launch, nothing tells whose kernel it is, and they get none. Puts calls in order,
 * by process and time. *loose counts kernels of no call.
 */
void nsys_link(struct nsys_profile *profile, int64_t *loose);

#endif
