/*
 * Jobs that stopped or never got going: which rank did not join, called something else, failed or never
 * started. Each function adds findings to `findings`; lib/report/diagnosis.c calls them, in order. They
 * return -1 when memory runs out, and the two that take an `error` set it.
 */
#ifndef NCCLPROF_HANG_HANG_H
#define NCCLPROF_HANG_HANG_H

#include "model/model.h"

#include <stdint.h>

struct baseline;
struct diagnose_options;
struct extents;
struct findings;
struct job;
struct job_warning;

/* -------------------- broken_transfers.c -------------------- */

/*
 * Finds network transfers that failed for good and ended the job, as ranks report them in their warnings:
 * InfiniBand's status 12, which means no answer after all retries. What all failed transfers have in common
 * is at fault: the card that could not send, the host that none could reach, or a card at either end that
 * reports a failure of its own port. The warnings that follow from these (status 5, flushed after another
 * transfer failed; connections closed by peers) come from ranks that lost a peer, and blame no rank.
 *
 * A peer that died does not answer either. If a rank is already found to be missing or to have ended early,
 * that rank is at fault, and not the card that could not reach it.
 */
int find_broken_transfers(const struct job *job, struct findings *findings);

/*
 * Whether the job went on after a warning and so was not ended by it. NCCL 2.30 can recover from failures of
 * a card.
 */
int job_went_on_after(const struct job *job, const struct job_warning *warning);

/* -------------------- first_unfinished.c -------------------- */

/*
 * For traces that record only finished operations. Of the ranks that stopped earlier in their step than
 * others of their role, finds those that share the operation that is usually done first. Low confidence: a
 * rank that waits there and one that never arrived leave the same trace.
 */
int find_laggards(const struct job *job, const struct baseline *baseline, struct findings *findings,
                  struct error *error);

/* -------------------- late_start.c -------------------- */

/*
 * Finds ranks that were late at start-up: they reached the creation of the first communicator of their
 * process at least start-late (rule.c) after all others, which waited for them. Communicators that are
 * created later are not analyzed, because another rank may have delayed the late one.
 */
int find_late_starts(const struct job *job, struct findings *findings);

/* -------------------- missing.c -------------------- */

/*
 * Finds ranks that did not join an operation, or called a different one. `positions` are those of the
 * baseline.
 */
int find_absence(const struct job *job, const int32_t *positions, const struct extents *extents,
                 const struct diagnose_options *options, struct findings *findings, struct error *error);

/* -------------------- reported_errors.c -------------------- */

/*
 * Finds errors that ranks report of themselves, in NCCL's log or PyTorch's. One table gives for each kind of
 * warning what it proves. A rank that reports an error of its own is at fault (FINDING_ERROR); if a finding
 * already blames it for stopping the job, the error becomes evidence there. If several ranks report such
 * errors they are candidates. A rank that only reports an effect (a peer closed its connection, an abort) is
 * not blamed. Call it after everything else that finds why a job stopped.
 */
int find_reported_errors(const struct job *job, struct findings *findings);

/* What a kind of warning reports of its own process, such as "a CUDA error"; NULL: nothing. */
const char *reported_what(enum warning_kind kind);

/* Whether this kind of warning reports a failure. */
int reported_is_failure(enum warning_kind kind);

/* Whether this kind of warning reports an effect of another rank's failure. */
int reported_is_effect(enum warning_kind kind);

/* -------------------- reported_absence.c -------------------- */

/*
 * Finds what ranks report of other ranks in PyTorch's log: its desync report names the ranks that did not
 * join, or did not finish, what the others did. That is evidence for a finding that already blames such a
 * rank. Otherwise it becomes a finding, unless the records clearly prove another rank at fault, or show that
 * the rank itself waits as the others do. It replaces candidates that are only named because they left no
 * record. -1 when memory runs out.
 */
int find_reported_absence(const struct job *job, struct findings *findings);

/*
 * Finds ranks whose process does not answer NCCL's RAS, which has a thread of its own in each process: the
 * process is stopped, dead, or cut off from the network. Low confidence where most do not answer, because
 * then the process that was asked may be the one that is cut off. Adds nothing for ranks that a finding
 * already blames. -1 when memory runs out.
 */
int find_ras_unresponsive(const struct job *job, struct findings *findings);

/* -------------------- stuck_sender.c -------------------- */

/*
 * Finds communicators whose creation never ended according to NCCL's log: some ranks logged "Init START" but
 * not "Init COMPLETE". Where no rank got past the bootstrap and some ranks of the communicator logged nothing
 * of it, those did not join. Otherwise the ranks that are stuck are candidates, because nothing shows which
 * of them, or what between them, holds up the others. Of several such communicators the first is reported;
 * one on which ranks made calls later is not, because then only lines of the log are lost.
 */
int find_unfinished_creations(const struct job *job, struct findings *findings);

#endif
