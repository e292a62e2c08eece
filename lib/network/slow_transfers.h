#ifndef NCCLPROF_NETWORK_SLOW_TRANSFERS_H
#define NCCLPROF_NETWORK_SLOW_TRANSFERS_H

#include "baseline/baseline.h"
#include "network/transfer_excess.h"

struct edges;

/*
 * Which transfers were slow (slow_ns, beyond_ns): those that stand out against the same place of other steps
 * and of other communicators by more than `sigmas`. -1 when memory is out.
 */
int transfers_find_slow(const struct job *job, const struct baseline *baseline, double sigmas,
                        struct transfer_excess *transfers);

/*
 * The shortest duration does not show a link that delays only some members, or hardly, and nothing where
 * kernel times are unknown or the link was always slow. Its network steps do. Where the transfer shows half
 * of it, that is no other slowness.
 */
int transfers_find_slow_links(const struct job *job, const struct edges *edges,
                              struct transfer_excess *transfers);

#endif
