/*
 * The phases in which a late host was: an operation that its host enqueued late has the tag that was set by
 * then, but the host may have spent the time under an earlier tag, in which no operation lies: loading data,
 * a checkpoint, an evaluation.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* Other operations at the same position of the step, with which one is compared: this many are enough. */
enum { COMPARED_MOST = 64 };

/* A rank whose marks are loaded, and its index in its role. */
struct marked_rank {
    struct job_marks marks;
    size_t in_role;
};

struct late_phases {
    const struct job *job;
    const struct baseline *baseline;
    const struct finding *finding;
    int64_t *grew_ns;          /* owned: by tag + 1, over all ranks of the finding */
    struct marked_rank rank;   /* of the finding */
    struct marked_rank *peers; /* owned: others in its role; loaded if the rank has no other steps */
    size_t peer_count;
    int32_t role;
};

/* The time of an operation's lateness under one tag. */
struct part {
    int32_t tag;
    int64_t ns;
};

static void add_if_tag(void *context, int32_t tag, int64_t ns)
{
    struct part *part = context;
    part->ns += tag == part->tag ? ns : 0;
}

static int64_t late_under(const struct job *job, const struct job_marks *marks, int32_t operation,
                          int32_t tag)
{
    struct part part = {.tag = tag};
    job_late_each(job, marks, &job->operations[operation], add_if_tag, &part);
    return part.ns;
}

/* The operations of the rank at a position in steps outside the finding. Returns how many. */
static size_t compare_with_steps(const struct late_phases *it, int32_t position, int32_t tag, int64_t *list)
{
    size_t count = 0;
    for (int32_t step = it->baseline->first_step; step < it->baseline->step_count && count < COMPARED_MOST;
         step++) {
        int32_t at = baseline_cell(it->baseline, it->role, position, it->rank.in_role, step);
        if (at >= 0 && !finding_has_step(it->finding, step))
            list[count++] = late_under(it->job, &it->rank.marks, at, tag);
    }
    return count;
}

/* Those of its peers in the same step. */
static size_t compare_with_peers(const struct late_phases *it, int32_t position, int32_t step, int32_t tag,
                                 int64_t *list)
{
    size_t count = 0;
    for (size_t i = 0; i < it->peer_count; i++) {
        int32_t at = baseline_cell(it->baseline, it->role, position, it->peers[i].in_role, step);
        if (at >= 0)
            list[count++] = late_under(it->job, &it->peers[i].marks, at, tag);
    }
    return count;
}

/* An operation of the rank in a step of the finding. */
struct late_operation {
    struct late_phases *it;
    int32_t operation;
};

static void count_growth(void *context, int32_t tag, int64_t ns)
{
    const struct late_operation *late = context;
    struct late_phases *it = late->it;
    int32_t position = it->baseline->positions[late->operation];
    int64_t list[COMPARED_MOST];
    size_t count = compare_with_steps(it, position, tag, list);
    if (!count)
        count = compare_with_peers(it, position, it->job->operations[late->operation].step, tag, list);
    int64_t usual_ns = count ? median_of(list, count) : ns;
    it->grew_ns[tag + 1] += ns > usual_ns ? ns - usual_ns : 0;
}

static int load_peers(struct late_phases *it, struct error *error)
{
    const struct role *role = &it->baseline->roles[it->role];
    int has_others = finding_steps(it->finding) < it->baseline->step_count - it->baseline->first_step;
    it->peers = array_new(COMPARED_MOST, sizeof *it->peers);
    if (!it->peers)
        return error_no_memory(error);
    for (size_t i = 0; i < role->rank_count && it->peer_count < COMPARED_MOST && !has_others; i++) {
        struct marked_rank *peer = &it->peers[it->peer_count];
        if (finding_has_rank(it->finding, role->ranks[i]))
            continue;
        it->peer_count++;
        peer->in_role = i;
        if (job_marks_load(&peer->marks, it->job, role->ranks[i], error))
            return -1;
    }
    return 0;
}

static void release_peers(struct late_phases *it)
{
    for (size_t i = 0; it->peers && i < it->peer_count; i++)
        job_marks_release(&it->peers[i].marks);
    free(it->peers);
    it->peers = NULL;
    it->peer_count = 0;
}

static int find_in_role(struct late_phases *it, int32_t rank)
{
    it->role = it->baseline->role_of_rank[rank];
    const struct role *role = it->role < 0 ? NULL : &it->baseline->roles[it->role];
    for (it->rank.in_role = 0; role && it->rank.in_role < role->rank_count; it->rank.in_role++)
        if (role->ranks[it->rank.in_role] == rank)
            return 1;
    return 0;
}

static int add_rank(struct late_phases *it, int32_t rank, struct error *error)
{
    const struct job *job = it->job;
    struct job_range range = job_operations_in(job, rank, it->finding->first_step, it->finding->last_step);
    if (!find_in_role(it, rank))
        return 0;
    if (job_marks_load(&it->rank.marks, job, rank, error))
        return -1;
    int failed = it->rank.marks.count ? load_peers(it, error) : 0;
    for (size_t i = range.first; !failed && it->rank.marks.count && i < range.end; i++) {
        struct late_operation late = {it, (int32_t)i};
        if (it->baseline->positions[i] >= 0 && job->operations[i].step >= 0 &&
            finding_has_step(it->finding, job->operations[i].step))
            job_late_each(job, &it->rank.marks, &job->operations[i], count_growth, &late);
    }
    release_peers(it);
    return failed;
}

/* Replaces the phases of the finding, if those of its host explain more than half of its excess. */
static int replace_phases(const struct late_phases *it, struct finding *finding)
{
    size_t tags = it->job->tags.count + 1, capacity = finding->phase_count;
    int64_t excess_ns = finding_excess_ns(finding), grew_ns = 0;
    int64_t ranks = finding->rank_count > 1 ? (int64_t)finding->rank_count : 1;
    for (size_t tag = 0; tag < tags; tag++)
        grew_ns += it->grew_ns[tag];
    if (excess_ns <= 0 || grew_ns / ranks <= excess_ns / 2)
        return 0;
    finding->phase_count = 0;
    for (size_t tag = 0; tag < tags; tag++) {
        if (!it->grew_ns[tag])
            continue;
        if (array_reserve((void **)&finding->phases, &capacity, finding->phase_count + 1,
                          sizeof *finding->phases))
            return -1;
        finding->phases[finding->phase_count++] =
            (struct phase_excess){(int32_t)tag - 1, scale(excess_ns, ratio_of(it->grew_ns[tag], grew_ns))};
    }
    finding_choose_phase(finding);
    return 0;
}

static int place(struct late_phases *it, struct finding *finding, struct error *error)
{
    int failed = 0;
    it->finding = finding;
    memset(it->grew_ns, 0, (it->job->tags.count + 1) * sizeof *it->grew_ns);
    for (size_t i = 0; !failed && i < finding->rank_count; i++)
        failed = add_rank(it, finding->ranks[i], error);
    if (!failed && !finding->rank_count)
        failed = add_rank(it, finding->rank, error);
    return failed ? -1 : replace_phases(it, finding) ? error_no_memory(error) : 0;
}

int findings_place_late_hosts(struct findings *findings, const struct job *job,
                              const struct baseline *baseline, struct error *error)
{
    struct late_phases it = {
        .job = job, .baseline = baseline, .grew_ns = array_new(job->tags.count + 1, sizeof *it.grew_ns)};
    int failed = it.grew_ns ? 0 : error_no_memory(error);
    for (size_t i = 0; !failed && i < findings->count; i++)
        if (findings->items[i].kind == FINDING_HOST && !findings->items[i].notice_ns &&
            finding_is_of_steps(&findings->items[i]))
            failed = place(&it, &findings->items[i], error);
    job_marks_release(&it.rank.marks);
    free(it.grew_ns);
    return failed;
}
