#ifndef NCCLPROF_NETWORK_BLAME_BY_COVER_H
#define NCCLPROF_NETWORK_BLAME_BY_COVER_H

#include "baseline/baseline.h"
#include "network/transfer_excess.h"

/*
 * Whose sending made instances slow (culprit), where no network steps say. -1 when memory
 * is out.
 */
int cover_slow_instances(const struct job *job, const struct baseline *baseline,
                         struct transfer_excess *transfers);

#endif
