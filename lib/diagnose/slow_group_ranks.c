/*
 * Which ranks may be at fault where groups of ranks transferred slowly in the same steps (slow_groups.c): the
 * members that most of the slow groups share, or the host that they cross. A slow pair names both ends: its
 * sender, its receiver or the link between them may be at fault.
 */
#include "base/base.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* If sisters are slower by at least this part in the same steps, the cause may be common to them. */
static const double COMMON_PART = 0.5;
/* Of the groups that cross a host, at least this part is slow where the host is. */
static const double OF_HOST_PART = 0.75;

/* The groups that cross a host. */
struct host_tally {
    double evidence; /* the sum of their scores */
    size_t slow;
    size_t all;
    size_t last; /* 1 + the last group that was counted */
};

struct ranking {
    const struct transfer_groups *groups;
    struct slow_groups *found;
    int32_t *ranks;             /* owned: scratch, members of a group */
    double *evidence;           /* owned: [rank], log odds that it is at fault, up to a constant */
    double *of_hosts;           /* owned: [host], same */
    struct host_tally *tallies; /* owned: [host] */
    double *list;               /* borrowed: scratch */
    double margin;              /* log odds by which one explanation has to be better than another */
};

static double middle_of(const struct ranking *it, size_t group)
{
    return transfer_groups_middle(it->groups, group, it->found->is_steady, &it->found->steps, it->list);
}

/*
 * Whether most sisters of the slowest group were slower in these steps, too, by a comparable factor. Groups
 * that are slow in all steps are compared with their sisters anyway.
 */
static int is_common(const struct ranking *it)
{
    const struct transfer_groups *groups = it->groups;
    size_t best = it->found->group, slow = 0, sisters = 0;
    double most = middle_of(it, best);
    for (size_t i = 0; !it->found->is_steady && i < groups->count; i++) {
        double middle =
            i != best && groups->items[i].family == groups->items[best].family ? middle_of(it, i) : NAN;
        sisters += !isnan(middle);
        slow += middle >= COMMON_PART * most;
    }
    return sisters > 0 && slow * 2 >= sisters;
}

/*
 * Whether the score of a group is evidence against its members: where it is certain by itself; or, where the
 * most certain group has all ranks and so leaves open which, where it uses the network as that one does.
 */
static int is_evidence(const struct ranking *it, size_t group, int best_has_all)
{
    const struct transfer_group *items = it->groups->items;
    return it->found->has[group] || (best_has_all && items[group].crosses == items[it->found->group].crosses);
}

/*
 * Adds up the evidence against each rank: the scores of the groups that it belongs to. A group whose other
 * members are at fault adds to them alike.
 */
static void weigh_ranks(const struct ranking *it)
{
    int best_has_all =
        transfer_group_ranks(it->groups, it->found->group, it->ranks) == it->groups->job->rank_count;
    for (size_t group = 0; group < it->groups->count; group++) {
        if (!is_evidence(it, group, best_has_all))
            continue;
        size_t count = transfer_group_ranks(it->groups, group, it->ranks);
        for (size_t i = 0; i < count; i++)
            it->evidence[it->ranks[i]] += it->found->scores[group];
    }
}

static double most_of(const double *evidence, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = evidence[i] > most ? evidence[i] : most;
    return most;
}

/* Takes the ranks that explain the slow groups best, and those that the trace cannot tell from them. */
static void take_ranks(const struct ranking *it, double most)
{
    for (size_t rank = 0; rank < it->groups->job->rank_count; rank++)
        it->found->may[rank] = it->evidence[rank] > 0 && it->evidence[rank] >= most - it->margin;
}

/* Adds each group that crosses the network to the hosts that it crosses. */
static void tally_hosts(const struct ranking *it, const struct partition *hosts)
{
    for (size_t group = 0; group < it->groups->count; group++) {
        size_t count =
            it->groups->items[group].crosses == 1 ? transfer_group_ranks(it->groups, group, it->ranks) : 0;
        for (size_t i = 0; i < count; i++) {
            struct host_tally *tally = &it->tallies[hosts->unit_of[it->ranks[i]]];
            if (tally->last == group + 1)
                continue;
            tally->last = group + 1;
            tally->evidence += it->found->scores[group];
            tally->slow += it->found->has[group];
            tally->all++;
        }
    }
}

/* 0 unless most of its groups are slow, and at least two, because one slow group has a slow member. */
static double evidence_of(const struct host_tally *tally)
{
    return tally->slow > 1 && (double)tally->slow >= OF_HOST_PART * (double)tally->all ? tally->evidence : 0;
}

/*
 * Takes the host that explains the slow groups clearly better than any rank does. If several do, all their
 * ranks are candidates. Returns whether there is one.
 */
static int take_hosts(const struct ranking *it, double most_of_ranks)
{
    const struct partition *hosts = transfer_groups_hosts(it->groups);
    double *evidence = it->of_hosts;
    size_t count = hosts ? hosts->count : 0, taken = 0;
    if (hosts)
        tally_hosts(it, hosts);
    for (size_t host = 0; host < count; host++)
        evidence[host] = evidence_of(&it->tallies[host]);
    double most = most_of(evidence, count);
    if (most < most_of_ranks + it->margin)
        return 0;
    memset(it->found->may, 0, it->groups->job->rank_count);
    for (size_t host = 0; host < count; host++) {
        if (evidence[host] < most - it->margin)
            continue;
        taken++;
        for (size_t i = hosts->first[host]; i < hosts->first[host + 1]; i++)
            it->found->may[hosts->ranks[i]] = 1;
    }
    it->found->is_unit = taken == 1;
    return 1;
}

static size_t count_of(const struct ranking *it)
{
    size_t count = 0;
    for (size_t rank = 0; rank < it->groups->job->rank_count; rank++)
        count += it->found->may[rank];
    return count;
}

/* Leaves the groups without a candidate for later. */
static void leave_others(const struct ranking *it)
{
    for (size_t group = 0; group < it->groups->count; group++) {
        size_t count = transfer_group_ranks(it->groups, group, it->ranks), has = 0;
        for (size_t i = 0; i < count; i++)
            has += it->found->may[it->ranks[i]];
        it->found->has[group] = it->found->has[group] && has;
    }
}

/* Takes the members of all slow groups: what most sisters share is the fault of no single rank. */
static void take_all(const struct ranking *it)
{
    memset(it->found->may, 0, it->groups->job->rank_count);
    for (size_t group = 0; group < it->groups->count; group++) {
        size_t count = it->found->has[group] ? transfer_group_ranks(it->groups, group, it->ranks) : 0;
        for (size_t i = 0; i < count; i++)
            it->found->may[it->ranks[i]] = 1;
    }
}

static void find(const struct ranking *it)
{
    weigh_ranks(it);
    double most = most_of(it->evidence, it->groups->job->rank_count);
    it->found->is_unit = 0;
    take_ranks(it, most);
    if (!take_hosts(it, most)) {
        if (is_common(it))
            take_all(it);
        else
            leave_others(it);
    }
    it->found->count = count_of(it);
    /* If most ranks may be at fault, little is known, and the cause is hardly the links of one. */
    if (it->found->count * 2 > it->groups->job->rank_count)
        it->found->count = 0;
}

int slow_groups_find_ranks(const struct transfer_groups *groups, struct slow_groups *found, double margin)
{
    size_t ranks = groups->job->rank_count;
    struct ranking it = {.groups = groups,
                         .found = found,
                         .ranks = array_new(ranks + 2, sizeof *it.ranks),
                         .evidence = array_new(ranks + 1, sizeof *it.evidence),
                         .of_hosts = array_new(ranks + 1, sizeof *it.of_hosts),
                         .tallies = array_new(ranks + 1, sizeof *it.tallies),
                         .list = array_new(groups->count + (size_t)groups->steps + 1, sizeof *it.list),
                         .margin = margin};
    int failed = !it.ranks || !it.list || !it.evidence || !it.of_hosts || !it.tallies;
    if (!failed)
        find(&it);
    free(it.ranks);
    free(it.list);
    free(it.evidence);
    free(it.of_hosts);
    free(it.tallies);
    return failed ? -1 : 0;
}
