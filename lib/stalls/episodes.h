#ifndef NCCLPROF_STALLS_EPISODES_H
#define NCCLPROF_STALLS_EPISODES_H

#include "stalls/judge.h"

/* Sigma of what an edge waited beyond the usual in a training step. */
int64_t judge_spread_ns(struct judge *judge, size_t edge, enum stalls_wait wait);

/* The least that counts in a step. */
int64_t judge_least_ns(const struct judge *judge, size_t edge);

int judge_stands_out(const struct judge *judge, const struct stalls_cell *cell, enum stalls_wait wait,
                     int64_t sigma_ns);

/* Training steps of an edge after the warm-up. */
int32_t judge_steps_seen(const struct judge *judge, size_t edge);

/* Fills in judge->episodes, once the usual is known. -1: memory is out. */
int judge_find_episodes(struct judge *judge);

#endif
