/*
 * Which ranks the HTML report shows where there are too many for all of them: those of the findings, and some
 * to compare them with.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/html.h"
#include "report/internal.h"

#include <stdlib.h>

/* Most ranks for each reason, so that none fills all rows. */
static const size_t most_of[] = {[HTML_ROW_ACCUSED] = 12,
                                 [HTML_ROW_OTHER_END] = 8,
                                 [HTML_ROW_WAITING] = 8,
                                 [HTML_ROW_PEER] = 8,
                                 [HTML_ROW_OTHER] = HTML_ROWS_MOST};

const char *html_row_reason(unsigned char why)
{
    static const char *const reasons[] = {[HTML_ROW_ACCUSED] = "at fault",
                                          [HTML_ROW_OTHER_END] = "other end",
                                          [HTML_ROW_WAITING] = "waits for it",
                                          [HTML_ROW_PEER] = "comparison"};
    return why < sizeof reasons / sizeof *reasons ? reasons[why] : NULL;
}

/* Whether a user asked for certain ranks. */
static int filters_ranks(const struct filter *filter)
{
    return filter && (filter->rank_count || filter->host);
}

static int is_wanted(const struct html_run *run, const struct filter *filter, size_t rank)
{
    return !filter || filter_has_rank(filter, run->job->ranks[rank].global_rank);
}

/* Marks the other ends of slow links: those that the finding names, else all that it exchanged data with. */
static void mark_ends(const struct job *job, const struct finding *finding, unsigned char *is_candidate)
{
    for (size_t i = 0; i < finding->peer_count; i++)
        is_candidate[finding->peers[i]] = 1;
    for (size_t i = 0; !finding->peer_count && i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        int32_t own = finding->receives ? traffic->receiver : traffic->sender;
        int32_t other = finding->receives ? traffic->sender : traffic->receiver;
        if (own >= 0 && other >= 0 && finding_has_rank(finding, own) &&
            finding_has_step(finding, job->operations[traffic->operation].step))
            is_candidate[other] = 1;
    }
}

/*
 * Marks the ranks that waited in the operation in which the finding shows first. If that is not a collective,
 * marks all that waited.
 */
static void mark_waiting(const struct job *job, const struct finding *finding, unsigned char *is_candidate)
{
    enum { PAIR = 2 };
    const struct job_instance *instance = finding->instance >= 0 ? &job->instances[finding->instance] : NULL;
    int is_collective = instance && instance->members > PAIR;
    for (size_t i = 0; i < finding->waiting_count && !is_collective; i++)
        is_candidate[finding->waiting[i]] = 1;
    for (int32_t i = 0; is_collective && i < instance->members; i++)
        is_candidate[job->operations[job_member_at(job, instance, i)].rank] = 1;
}

/* Marks the ranks that do the same work as the one at fault. */
static void mark_peers(const struct html_run *run, const struct finding *finding, unsigned char *is_candidate)
{
    int32_t role = run->baseline->role_of_rank[finding->rank];
    for (size_t rank = 0; role >= 0 && rank < run->job->rank_count; rank++)
        is_candidate[rank] |= run->baseline->role_of_rank[rank] == role;
}

static void mark(const struct html_run *run, enum html_row_why why, unsigned char *is_candidate)
{
    for (size_t i = 0; i < run->findings->count; i++) {
        const struct finding *finding = &run->findings->items[i];
        if (!finding_is_reported(finding))
            continue;
        for (size_t rank = 0; why == HTML_ROW_ACCUSED && rank < run->job->rank_count; rank++)
            is_candidate[rank] |= finding_has_rank(finding, (int32_t)rank) != 0;
        if (why == HTML_ROW_OTHER_END && finding->kind == FINDING_NETWORK)
            mark_ends(run->job, finding, is_candidate);
        if (why == HTML_ROW_WAITING)
            mark_waiting(run->job, finding, is_candidate);
        if (why == HTML_ROW_PEER)
            mark_peers(run, finding, is_candidate);
    }
    for (size_t rank = 0; why == HTML_ROW_OTHER && rank < run->job->rank_count; rank++)
        is_candidate[rank] = 1;
}

/* Takes some of the candidates, at even distances. */
static void take(struct html_rows *rows, const struct html_run *run, const struct filter *filter,
                 enum html_row_why why, unsigned char *is_candidate)
{
    size_t count = 0, seen = 0, taken = 0, room = HTML_ROWS_MOST - rows->count;
    for (size_t rank = 0; rank < run->job->rank_count; rank++) {
        is_candidate[rank] = is_candidate[rank] && !rows->why[rank] && is_wanted(run, filter, rank);
        count += is_candidate[rank];
    }
    size_t most = most_of[why] < room ? most_of[why] : room;
    most = most < count ? most : count;
    for (size_t rank = 0; rank < run->job->rank_count && taken < most; rank++)
        if (is_candidate[rank] && seen++ == taken * count / most) {
            rows->why[rank] = (unsigned char)why;
            taken++;
        }
    rows->count += taken;
}

/* Lists the ranks: by reason if some are left out, else in their own order, without reasons to choose them.
 */
static void list(struct html_rows *rows, size_t rank_count)
{
    size_t count = 0;
    for (size_t rank = 0; rows->count == rank_count && rank < rank_count; rank++)
        if (rows->why[rank] > HTML_ROW_OTHER_END)
            rows->why[rank] = HTML_ROW_OTHER;
    for (unsigned char why = HTML_ROW_ACCUSED; rows->count < rank_count && why <= HTML_ROW_OTHER; why++)
        for (size_t rank = 0; rank < rank_count; rank++)
            if (rows->why[rank] == why)
                rows->ranks[count++] = (int32_t)rank;
    for (size_t rank = 0; rows->count == rank_count && rank < rank_count; rank++)
        rows->ranks[rank] = (int32_t)rank;
}

int html_rows_init(struct html_rows *rows, const struct html_run *run, const struct filter *filter)
{
    size_t ranks = run->job->rank_count;
    unsigned char *is_candidate = array_new(ranks + 1, 1);
    *rows = (struct html_rows){.ranks = array_new(ranks + 1, sizeof *rows->ranks),
                               .why = array_new(ranks + 1, 1)};
    if (!is_candidate || !rows->ranks || !rows->why) {
        free(is_candidate);
        return -1;
    }
    for (enum html_row_why why = HTML_ROW_ACCUSED; why <= HTML_ROW_OTHER; why++) {
        for (size_t rank = 0; rank < ranks; rank++)
            is_candidate[rank] = 0;
        if (why == HTML_ROW_OTHER && rows->count && ranks > HTML_ROWS_MOST && !filters_ranks(filter))
            break;
        mark(run, why, is_candidate);
        take(rows, run, filter, why, is_candidate);
    }
    list(rows, ranks);
    free(is_candidate);
    return 0;
}

void html_rows_release(struct html_rows *rows)
{
    free(rows->ranks);
    free(rows->why);
    *rows = (struct html_rows){.ranks = NULL};
}
