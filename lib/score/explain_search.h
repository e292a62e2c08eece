#ifndef NCCLPROF_SCORE_EXPLAIN_SEARCH_H
#define NCCLPROF_SCORE_EXPLAIN_SEARCH_H

#include "delay/replay.h"
#include "score/explain.h"
#include "score/panel.h"

/*
 * What explanations_find() knows meanwhile: what has been found and explained, what the residuals are of what
 * is left, and which hypothesis is the most certain then.
 */

/* So many that gain nothing are enough to look at: each takes replays, and is more certain than the next. */
enum { MOST_IDLE = 8 };

/* What was certain and gained nothing: it is not believed, and explains nothing. */
struct idle {
    const struct partition *partition;
    size_t unit;
    int32_t first;
    int32_t last;
};

struct explaining {
    struct explanations *found;
    const struct belief *belief;
    struct idle idle[MOST_IDLE];
    int idle_count;
    struct sheet_source source;
    unsigned char *explained;               /* owned: [rank * steps + step] */
    int64_t *longest_stay_ns;               /* owned */
    struct panel *panels;                   /* owned: [role * partitions + partition] */
    int64_t *sigma_ns;                      /* owned: likewise */
    unsigned char *dirty;                   /* owned: [role] */
    unsigned char *mostly[MOST_PARTITIONS]; /* owned: [unit], whether it is explained in most steps */
    struct step_set *sets[MOST_PARTITIONS]; /* owned: [unit], the best; NULL: not known */
    double *row;                            /* owned: scratch, [step] */
    double *residuals;                      /* owned: scratch */
    size_t residual_room;
    double *by_role;       /* owned: scratch, [role] */
    int64_t *list;         /* owned: scratch, a cell each */
    unsigned char *marked; /* owned: scratch, [step] */
    int64_t **kept_ns; /* owned: own times of the replay that all but put back, [rank][operation of it]; NULL:
                          they have not been changed since explaining_settle */
    int32_t *path;     /* owned: the replay's critical path, operations */
    size_t path_length;
    struct replay *replay;
    int64_t lasts_ns; /* of the replay, without what is explained */
};

/* The partitions of what is found are made already. -1 when memory is out: release it all the same. */
int explaining_init(struct explaining *it, const struct job *job, const struct baseline *baseline,
                    const struct transfer_excess *transfers);
void explaining_release(struct explaining *it);

/* What was taken out of the replay is not to be put back any more. */
void explaining_forget_kept(struct explaining *it);

/* The residuals of a role by the units of a partition; and the number of a unit in these, or -1. */
struct panel *explaining_panel(const struct explaining *it, size_t role, size_t partition);
int32_t panel_unit(const struct panel *panel, size_t unit);

/*
 * The most certain one that is left, of those above the belief's certainty and not idle: of what goes through
 * all steps first, as that is what noise in some of them is about. Returns 1 if there is one, 0, or -1 when
 * memory is out.
 */
int explaining_best(struct explaining *it, struct explanation *best);

/* The same fault at another unit, with the certainty that it has there. -1 when memory is out. */
int explaining_move(struct explaining *it, size_t number, size_t unit, struct explanation *fault);

#endif
