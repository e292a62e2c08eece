#ifndef NCCLPROF_DIAGNOSE_EXPLAINED_NETWORK_H
#define NCCLPROF_DIAGNOSE_EXPLAINED_NETWORK_H

#include "delay/replay.h"
#include "diagnose/suspect.h"
#include "network/edges.h"
#include "verdict/finding.h"
#include "verdict/options.h"

/*
 * What the score of senders (score/slow_senders.h) is certain of becomes findings: of several ranks of one
 * host, which may share a network interface, or of one. The findings of their networks in the same steps go
 * into it, and one of a single rank that is believed anyway stays as it is. Wants what
 * findings_take_explanations adds: who waited for a receiver that was late itself is not to blame. Notes in
 * `transfers` whose links made them slow, of those that are told. `replay` is as that left it; NULL where
 * nothing has times on the device.
 */
int findings_take_senders(struct findings *findings, const struct suspects *suspects, const struct job *job,
                          const struct baseline *baseline, const struct edges *edges,
                          struct transfer_excess *transfers, struct replay *replay,
                          const struct diagnose_options *options, struct error *error);

#endif
