#ifndef NCCLPROF_POSTMORTEM_STUCK_SENDER_H
#define NCCLPROF_POSTMORTEM_STUCK_SENDER_H

#include "postmortem/wait_graph.h"
#include "verdict/finding.h"

/*
 * A pipeline of sends and receives that stands still though all hosts ran ahead: a send and its receive were
 * both called, neither has ended, and all others wait behind them. A stage computes between what it receives
 * and what it sends, so that the GPU of the sender is stuck there, where nothing keeps the receiver from
 * receiving: its call before was a send, or receives of the sender itself do not end either, which on other
 * ranks do not wait for sends. -1 when memory is out.
 */
int find_stuck_sender(const struct wait_graph *graph, struct findings *findings);

#endif
