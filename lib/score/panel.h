#ifndef NCCLPROF_SCORE_PANEL_H
#define NCCLPROF_SCORE_PANEL_H

#include "score/sheet.h"

/*
 * Residuals of own time by unit and step: what sheet.h has of each place, summed over the places of a step.
 * They keep their sign, so that noise cancels. In nanoseconds.
 */
struct panel {
    size_t units;  /* of the role; 0 or 1: nothing to compare with */
    int32_t *unit; /* owned: their numbers in the partition */
    /* Owned: [unit of the role * steps + step]. */
    int64_t *beyond; /* beyond the others and its quiet steps, about 0 where nothing is wrong; TIME_UNKNOWN */
    int64_t *more;   /* sum over the places where it was beyond those */
    int64_t *host;   /* of that, what came before operations that were enqueued late */
    struct level *level;     /* owned: [unit of the role] */
    struct middles *middles; /* owned: [position * steps + step], what fault_each() holds a unit against */
};

/* How far a unit is from the others through all steps; of places, the sums of their medians over steps. */
struct level {
    int64_t apart_ns;       /* own time less the others' */
    int64_t quiet_ns;       /* the same, of a step: lower quartile over steps */
    int64_t more_ns;        /* of places where it is more */
    int64_t host_ns;        /* of that, before operations that were enqueued later than the others' */
    int64_t widest_ns;      /* own time of the others at the place where that is longest */
    int64_t widest_more_ns; /* the unit's there, less the others' */
    int64_t others_ns;      /* own time of the others */
    int64_t slower_ns;      /* of that, at places where the unit takes longer (SLOWER) */
};

/* Of a role, one panel for each partition; `panels` has room. -1 when memory is out: release them all the
 * same. */
int panels_init(struct panel *panels, const struct sheet_source *source, const struct partitions *partitions,
                size_t role);
void panel_release(struct panel *panel);

/*
 * What an explanation takes away: what the ranks of a unit took longer than the others in the steps marked;
 * and longer than in the other steps, unless they are slow in all. Of several ranks no more than what three
 * of four show. Less where they took less: noise cancels.
 */
struct fault {
    const struct partition *partition;
    size_t unit;
    const struct panel
        *panels; /* of the partition, in the first role; those of the next are `apart` further */
    size_t apart;
    const unsigned char *steps;
    int is_steady;
    double most_part; /* of an own time */
};

typedef void (*fault_taker)(void *context, int32_t operation, int64_t fault_ns);

/* Calls `take` for each operation of the fault. -1 when memory is out. */
int fault_each(const struct fault *fault, const struct sheet_source *source, fault_taker take, void *context);

#endif
