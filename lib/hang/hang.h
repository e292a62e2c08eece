#ifndef NCCLPROF_HANG_HANG_H
#define NCCLPROF_HANG_HANG_H

#include "model/model.h"

#include <stdint.h>

struct baseline;
struct diagnose_options;
struct extents;
struct findings;
struct job;

/* -------------------- broken_transfers.c -------------------- */

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

/* -------------------- first_unfinished.c -------------------- */

/*
 * Where only finished operations are recorded, the ranks that share the first one that was not
 * finished, of those who stopped earlier in their step than others of their role. Low confidence: who waits
 * and who never came look alike there.
 */
int find_laggards(const struct job *job, const struct baseline *baseline, struct findings *findings,
                  struct error *error);

/* -------------------- late_start.c -------------------- */

/*
 * Who was late at start-up: came to the making of the first communicator of its process by start-late or more
 * after all others, who waited for it (job/start_ups.h). What is made later is not judged: what held a rank
 * up may be another that made it wait. -1: no memory.
 */
int find_late_starts(const struct job *job, struct findings *findings);

/* -------------------- missing.c -------------------- */

/* Ranks that never came, or called something else. `positions` are the baseline's. */
int find_absence(const struct job *job, const int32_t *positions, const struct extents *extents,
                 const struct diagnose_options *options, struct findings *findings, struct error *error);

/* -------------------- reported_errors.c -------------------- */

/*
 * Errors that ranks report themselves, in NCCL's log or PyTorch's: of which kind a warning is, and what that
 * kind says, is one table. A rank that reports an error of its own is at fault (FINDING_ERROR); where it is
 * already found at fault for stopping the job, the error is evidence of that. Several ranks with such errors
 * are candidates. A rank that only reports an effect (a peer that closed its connection, an abort) is not
 * accused. Called once all else is found that stops a job.
 */
int find_reported_errors(const struct job *job, struct findings *findings);

/* What a warning of a kind reports of its own process: "a CUDA error". NULL: nothing of that sort. */
const char *reported_what(enum warning_kind kind);

/* Whether it is of something that failed. */
int reported_is_failure(enum warning_kind kind);

/* Whether it reports an effect of what another rank did. */
int reported_is_effect(enum warning_kind kind);

/* -------------------- reported_absence.c -------------------- */

/*
 * What ranks report of others, in PyTorch's log: its desync report says who did not join, or did not finish,
 * what the others did. Evidence of the finding that accuses that rank already, else a finding of its own,
 * unless records accuse another one surely, or show that the rank waits as the others do. Takes the place of
 * candidates that left no record. -1 when memory is out.
 */
int find_reported_absence(const struct job *job, struct findings *findings);

/*
 * Ranks whose process does not answer NCCL's RAS, which has a thread of its own in each: stopped, dead, or
 * cut off from the network. Low where most are so: then it may be whom was asked that is cut off. Adds to
 * nobody who is accused already. -1 when memory is out.
 */
int find_ras_unresponsive(const struct job *job, struct findings *findings);

/* -------------------- stuck_sender.c -------------------- */

/*
 * Communicators whose making never ended, as NCCL's log tells: ranks that are in the log up to "Init START"
 * and not to "Init COMPLETE". Where no rank got past the bootstrap, and ranks of the communicator have no
 * such line, those are missing; else the ranks that are stuck are candidates, and nobody knows which of them,
 * or what between them, holds up the others. Of several such communicators the first is told. Nothing where
 * ranks made calls on it later: its lines are merely lost.
 */
int find_unmade(const struct job *job, struct findings *findings);

#endif
