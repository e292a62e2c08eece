#ifndef NCCLPROF_JOIN_LABELS_H
#define NCCLPROF_JOIN_LABELS_H

#include "join/work.h"

/* Names of ranks and labels of communicators: the latter each once in its run. */
int work_label(struct work *work, struct error *error);

#endif
