#ifndef NCCLPROF_POSTMORTEM_PROGRESS_H
#define NCCLPROF_POSTMORTEM_PROGRESS_H

#include "job/job.h"

#include "base/map.h"

/* How far each operation of a job got, as it stands where the traces end. */
struct passing {
    const struct job *job;
    int32_t *finished_step; /* per rank: the last step in which its GPU finished something; -1 */
    int32_t *next;          /* per operation that is the first of its group: the next on its stream; -1 */
    unsigned char *lacking; /* per instance: somebody is absent whose record would show that it came */
    struct map likes; /* (rank, communicator, function, peer, bytes) -> what was seen of them, and what the
                         last with one after it lacks */
};

/* -1 when memory is out; to be released all the same. */
int passing_init(struct passing *passing, const struct job *job);
void passing_release(struct passing *passing);

/* Whether the next of its stream began on the device. */
int passing_next_began(const struct passing *passing, int32_t operation);

/* It ended, or the next on its stream began, or its rank was done with later steps. Its proxies may be done
 * while its kernel still waits. */
int passing_is_past(const struct passing *passing, int32_t operation);

/*
 * It did not get past, and that is not for want of a record: its rank's has its end, something is recorded of
 * its like, and the last of them that others followed has its end, or there is none. Where only calls are
 * recorded: somebody never made it.
 */
int passing_is_held(const struct passing *passing, int32_t operation);

/* Its GPU began it, as recorded, and is held in it: there it waits. */
int passing_waits(const struct passing *passing, int32_t operation);

/*
 * Its host called it and its GPU never got to it: it has no start, as the last of its like (what its rank
 * called of that kind and size) that others followed had.
 */
int passing_never_began(const struct passing *passing, int32_t operation);

#endif
