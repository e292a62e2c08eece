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
#include <string.h>

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
    return filter && filter_is_of_ranks(filter);
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

/* Takes at most `most` of the candidates, at even distances. */
static void take(struct html_rows *rows, size_t rank_count, enum html_row_why why, size_t most,
                 const unsigned char *is_candidate)
{
    size_t count = 0, seen = 0, taken = 0;
    for (size_t rank = 0; rank < rank_count; rank++)
        count += is_candidate[rank] && !rows->why[rank];
    most = most < count ? most : count;
    for (size_t rank = 0; rank < rank_count && taken < most; rank++)
        if (is_candidate[rank] && !rows->why[rank] && seen++ == taken * count / most) {
            rows->why[rank] = (unsigned char)why;
            taken++;
        }
    rows->count += taken;
}

static size_t count_wanted(const struct html_run *run, const struct filter *filter)
{
    size_t count = 0;
    for (size_t rank = 0; rank < run->job->rank_count; rank++)
        count += is_wanted(run, filter, rank) != 0;
    return count;
}

static void choose(struct html_rows *rows, const struct html_run *run, const struct filter *filter,
                   unsigned char *is_candidate)
{
    size_t ranks = run->job->rank_count;
    int has_room = count_wanted(run, filter) <= HTML_ROWS_MOST;
    for (enum html_row_why why = HTML_ROW_ACCUSED; why <= HTML_ROW_OTHER; why++) {
        size_t room = HTML_ROWS_MOST - rows->count;
        if (why == HTML_ROW_OTHER && rows->count && !has_room && !filters_ranks(filter))
            break;
        memset(is_candidate, 0, ranks);
        mark(run, why, is_candidate);
        for (size_t rank = 0; rank < ranks; rank++)
            is_candidate[rank] = is_candidate[rank] && is_wanted(run, filter, rank);
        take(rows, ranks, why, has_room || most_of[why] > room ? room : most_of[why], is_candidate);
    }
    /* If none is left out, these were not chosen. */
    for (size_t rank = 0; has_room && rank < ranks; rank++)
        if (rows->why[rank] > HTML_ROW_OTHER_END)
            rows->why[rank] = HTML_ROW_OTHER;
}

/* Lists the ranks: by reason, or in their own order if none is left out. */
static void list(struct html_rows *rows, size_t rank_count, int by_reason)
{
    size_t count = 0;
    for (enum html_row_why why = HTML_ROW_ACCUSED; why <= (by_reason ? HTML_ROW_OTHER : HTML_ROW_ACCUSED);
         why++)
        for (size_t rank = 0; rank < rank_count; rank++)
            if (by_reason ? rows->why[rank] == why : rows->why[rank] != HTML_ROW_NONE)
                rows->ranks[count++] = (int32_t)rank;
}

int html_rows_init(struct html_rows *rows, const struct html_run *run, const struct filter *filter)
{
    size_t ranks = run->job->rank_count;
    unsigned char *is_candidate = array_new(ranks + 1, 1);
    *rows = (struct html_rows){.ranks = array_new(ranks + 1, sizeof *rows->ranks),
                               .why = array_new(ranks + 1, 1)};
    int failed = !is_candidate || !rows->ranks || !rows->why;
    if (!failed) {
        choose(rows, run, filter, is_candidate);
        list(rows, ranks, rows->count < count_wanted(run, filter));
    }
    free(is_candidate);
    return failed ? -1 : 0;
}

void html_rows_release(struct html_rows *rows)
{
    free(rows->ranks);
    free(rows->why);
    *rows = (struct html_rows){.ranks = NULL};
}
