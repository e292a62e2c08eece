#ifndef NCCLPROF_DIAGNOSE_EXPLAINED_NETWORK_H
#define NCCLPROF_DIAGNOSE_EXPLAINED_NETWORK_H

#include "network/edges.h"
#include "verdict/finding.h"
#include "verdict/options.h"

#include "baseline/baseline.h"
#include "network/transfer_excess.h"

/*
 * What the score says of senders (score/senders.h) becomes findings: of several ranks of one host, which may
 * share a network interface, or of one in all steps. The findings of their networks in the same steps go into
 * it. Wants what findings_take_explanations adds: who waited for a receiver that was late itself is not to
 * blame.
 */
int findings_take_senders(struct findings *findings, const struct job *job, const struct baseline *baseline,
                          const struct edges *edges, const struct transfer_excess *transfers,
                          const struct diagnose_options *options, struct error *error);

#endif
