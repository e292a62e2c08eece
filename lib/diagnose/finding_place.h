/*
 * Where the ranks of a finding run, and what to do about it (finding_place.c). Every output that accuses a
 * rank takes the names from here. What the trace does not record is left out, never guessed. Functions that
 * return int return -1 when memory runs out.
 */
#ifndef NCCLPROF_DIAGNOSE_FINDING_PLACE_H
#define NCCLPROF_DIAGNOSE_FINDING_PLACE_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct finding;
struct job;
struct job_instance;

/* Ranks, borrowed from a finding. */
struct rank_span {
    const int32_t *items;
    size_t count;
};

/* All ranks that the finding blames or, of candidates that cannot be told apart, may blame. */
struct rank_span finding_accused(const struct finding *finding);

/*
 * Appends these ranks with their hosts and GPUs, as far as they are known: "rank 137 (node017, GPU 1)",
 * "host node1 (ranks 8 to 15)", "rank 3 (node0) or rank 5 (node1)". A GPU has its number on the host, or else
 * its bus ID.
 */
int finding_name_accused(const struct finding *finding, const struct job *job, struct buffer *text);

/* Appends their hosts, each once, and their GPUs, in the order of the ranks; separated by commas. Nothing
 * where not known. */
int finding_list_hosts(const struct finding *finding, const struct job *job, struct buffer *text);
int finding_list_gpus(const struct finding *finding, const struct job *job, struct buffer *text);

/* The number of its GPU on its host; COUNT_UNKNOWN. */
int64_t rank_gpu_number(const struct job *job, int32_t rank);

/* Appends the GPU of a rank as finding_name_accused names it, without "GPU"; nothing where not known. */
int rank_append_gpu(const struct job *job, int32_t rank, struct buffer *text);

/*
 * Appends ranks in ascending order: "rank 7", "ranks 0-135, 138-511". The text is short for any number of
 * ranks.
 */
int ranks_append_list(const struct job *job, const int32_t *ranks, size_t count, struct buffer *text);

/* The ranks that called an operation that never finished, ascending: those that wait, and those at fault. */
struct unfinished {
    int32_t *waiting; /* owned, like `accused` */
    int32_t *accused;
    size_t waiting_count;
    size_t accused_count;
};

/* Lists them; `finding`: the finding that accuses ranks, or NULL. Release the lists also after an error. */
int instance_unfinished(const struct job *job, const struct job_instance *instance,
                        const struct finding *finding, struct unfinished *unfinished);
void unfinished_release(struct unfinished *unfinished);

/* Appends what to do first: "drain host node017 and test GPU 1", "look at the stack of rank 5 (node1)". */
int finding_append_action(const struct finding *finding, const struct job *job, struct buffer *text);

#endif
