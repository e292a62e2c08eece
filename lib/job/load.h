#ifndef NCCLPROF_JOB_LOAD_H
#define NCCLPROF_JOB_LOAD_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct job;
struct job_operation;
struct job_start;
struct loader;
struct statement;

/* -------------------- loader.c -------------------- */

/* Rank and communicator index; -1 likewise. */
int64_t loader_rank(const struct loader *loader, int64_t id);
int64_t loader_communicator(const struct loader *loader, int64_t id);

/* The number of a tag; -1 for NULL. */
int loader_tag(struct loader *loader, const char *text, int32_t *tag, struct error *error);

/* A step as the store has it, as the job numbers it; -1 where it is none of the run's, or not loaded. */
int32_t loader_step(const struct loader *loader, int64_t step);

/* Whether the run has that step, and it is not loaded. */
int loader_drops(const struct loader *loader, int64_t step);

enum { CHANNELS_MANY = UINT8_MAX };

typedef int (*row_reader)(struct loader *loader, struct statement *statement, struct error *error);

/* Calls `read` for each row; parameter 1 of `sql` is the run. */
int loader_read(struct loader *loader, const char *sql, row_reader read, struct error *error);

/* What the one row of a query says, likewise; 0 where there is none. */
int loader_read_number(struct loader *loader, const char *sql, int64_t *number, struct error *error);

/* The operations, in order of their ids. Instances are there. */
int loader_read_operations(struct loader *loader, struct error *error);

/* Operations are laid out: when their streams were free is not known yet. -1 when memory is out. */
int loader_draft_ends(struct job *job);

/* Operations are laid out: fills `places`, unless it is. -1 when memory is out. */
int loader_list_places(struct loader *loader);

/* Operations are laid out: which of them are of each instance. -1 when memory is out. */
int loader_list_members(struct job *job);

/* -------------------- load.c -------------------- */

/*
 * All operations are laid out: marks the ranks of processes whose ranks are not all told apart. One without
 * operations, as of a communicator that nobody used, hides nobody's. Not 0: out of memory.
 */
int job_find_parts(struct job *job);

/* -------------------- load_traffic.c -------------------- */

/* The network steps. Operations are laid out. */
int loader_read_traffic(struct loader *loader, struct error *error);

/*
 * An operation of which only the duration is recorded began when the one before it on its stream had ended
 * and it was enqueued.
 */
void job_infer_start(struct job *job, size_t operation);

/* Fills in its own time, from what is known of its stream by now. */
void job_measure_own(struct job *job, struct job_operation *operation);

/* -------------------- load_coverage.c -------------------- */

/* What of the run is damaged, lost, cut off or left out by its recorder. Instances are there. */
int loader_read_coverage(struct loader *loader, struct error *error);

/* What a wait is taken from. */
enum start_measure {
    START_NOTHING = 0,
    START_BY_PARTS,
    START_BY_LINES,  /* of lines, which have decimals of a second */
    START_BY_SECONDS /* of lines, which have whole ones */
};

/* What came nearer together than this came at once: parts have two decimals of a second. */
int64_t start_told_ns(enum start_measure measure);

/* Of all ranks of a communicator, whose waits are known to `told_ns`: who came last. */
void starts_compare(struct job_start *starts, size_t count, int64_t told_ns);

/* Puts them in order of communicators and their ranks, and says who came last. */
void job_judge_starts(struct job *job);

/* -------------------- lost_files.c -------------------- */

/* Who is in the communicators is known (store/membership.h): marks the ranks whose file of some communicator
 * may have been lost. Not 0: out of memory. */
int job_find_lost_files(struct job *job);

#endif
