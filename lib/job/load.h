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

/* The index of a rank and of a communicator; -1 if it does not belong to this run. */
int64_t loader_rank(const struct loader *loader, int64_t id);
int64_t loader_communicator(const struct loader *loader, int64_t id);

/* Sets *tag to the number of a tag; -1 for NULL. */
int loader_tag(struct loader *loader, const char *text, int32_t *tag, struct error *error);

/* Converts a step in the store to the job's number; -1 if it is not a step of the run or is not loaded. */
int32_t loader_step(const struct loader *loader, int64_t step);

/* Whether the run has this step but it is not loaded. */
int loader_drops(const struct loader *loader, int64_t step);

enum { CHANNELS_MANY = UINT8_MAX };

typedef int (*row_reader)(struct loader *loader, struct statement *statement, struct error *error);

/* Calls `read` for each row. Parameter 1 of `sql` is the run. */
int loader_read(struct loader *loader, const char *sql, row_reader read, struct error *error);

/*
 * Reads the number that a query for one row returns; 0 if there is no row. Parameter 1 of `sql` is the run.
 */
int loader_read_number(struct loader *loader, const char *sql, int64_t *number, struct error *error);

/* Reads the operations, in the order of their ids. Instances must be loaded. */
int loader_read_operations(struct loader *loader, struct error *error);

/*
 * Initializes when the streams of operations became free, if that is not known yet. Operations must be laid
 * out. Returns -1 when out of memory.
 */
int loader_draft_ends(struct job *job);

/* Fills `places` if it is not filled yet. Operations must be laid out. Returns -1 when out of memory. */
int loader_list_places(struct loader *loader);

/*
 * Lists the member operations of each instance. Operations must be laid out. Returns -1 when out of memory.
 */
int loader_list_members(struct job *job);

/* -------------------- load.c -------------------- */

/*
 * Marks the ranks of processes whose ranks cannot all be told apart (is_part). Ranks without operations, as
 * in a communicator that was never used, are ignored. All operations must be laid out. Not 0 when out of
 * memory.
 */
int job_find_parts(struct job *job);

/* -------------------- load_traffic.c -------------------- */

/* Reads the network steps. Operations must be laid out. */
int loader_read_traffic(struct loader *loader, struct error *error);

/* -------------------- load_coverage.c -------------------- */

/* Reads what is damaged, lost, truncated or not recorded in the run. Instances must be loaded. */
int loader_read_coverage(struct loader *loader, struct error *error);

/* The source of a wait time. */
enum start_measure {
    START_NOTHING = 0,
    START_BY_PARTS,
    START_BY_LINES,  /* log lines with fractions of a second */
    START_BY_SECONDS /* log lines with whole seconds */
};

/*
 * The resolution of a measure: arrivals closer together than this count as simultaneous. Parts have two
 * decimals of a second.
 */
int64_t start_resolution_ns(enum start_measure measure);

/* Finds who joined last among all ranks of a communicator, whose waits have a resolution of `told_ns`. */
void starts_compare(struct job_start *starts, size_t count, int64_t told_ns);

/* Sorts the starts by communicator and rank, and finds who joined last. */
void job_judge_starts(struct job *job);

/* -------------------- lost_files.c -------------------- */

/*
 * Marks the ranks that may have lost the file of some communicator. The members of communicators must be
 * known. Not 0 when out of memory.
 */
int job_find_lost_files(struct job *job);

#endif
