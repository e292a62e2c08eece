#ifndef NCCLPROF_POSTMORTEM_BROKEN_TRANSFERS_H
#define NCCLPROF_POSTMORTEM_BROKEN_TRANSFERS_H

#include "verdict/finding.h"

/*
 * Transfers of network cards that failed for good and ended the job, as its ranks warn: InfiniBand's status
 * 12, no answer after all retries. Whose card or link it was, is what all of them have in common: the card
 * that could not send, or the host that none could reach; a card at either end that warns of its own port was
 * it. All other warnings that come with it (status 5, given up after another one failed; connections that
 * peers closed) are of those who lost a peer, and accuse nobody.
 *
 * A peer that died answers no longer, either: whoever is found missing or to have ended early is to blame,
 * and not the card that could not reach it. -1: no memory.
 */
int find_broken_transfers(const struct job *job, struct findings *findings);

#endif
