#include "report/places.h"

#include "base/array.h"

#include <stdlib.h>

static int take_places(struct report_places *places, struct report_groups *report)
{
    const struct roster *roster = places->roster;
    places->ranks = array_new(roster->rank_count, sizeof *places->ranks);
    if (!places->ranks)
        return -1;
    for (size_t i = 0; i < roster->rank_count; i++) {
        const struct roster_facts *facts = &roster->ranks[i].facts;
        struct report_place *place = &places->ranks[i];
        place->host = report_groups_text(report, facts->host);
        place->gpu_serial = report_groups_text(report, facts->gpu_serial);
        place->vm = report_groups_text(report, facts->vm);
        place->device = facts->gpu >= 0 ? facts->gpu : -1;
        if (place->host < -1 || place->gpu_serial < -1 || place->vm < -1)
            return -1;
    }
    return 0;
}

int report_places_init(struct report_places *places, const struct roster *roster,
                       struct report_groups *report)
{
    *places = (struct report_places){.roster = roster};
    return take_places(places, report);
}

void report_places_release(struct report_places *places)
{
    free(places->ranks);
    places->ranks = NULL;
}

int32_t report_places_seat(const struct report_places *places, int32_t communicator, int64_t number)
{
    return job_seated(&places->roster->communicators[communicator], number);
}

int64_t report_places_global_rank(const struct report_places *places, int32_t communicator, int64_t number)
{
    const struct job_communicator *of = &places->roster->communicators[communicator];
    if (number >= 0 && (uint64_t)number < of->member_count)
        return of->members[number];
    int32_t rank = report_places_seat(places, communicator, number);
    return rank < 0 ? -1 : places->roster->ranks[rank].global_rank;
}

/* Hosts tell; virtual machines where no host is known. */
static int64_t node_of(const struct report_places *places, int32_t rank)
{
    const struct report_place *place = &places->ranks[rank];
    return place->host >= 0 ? place->host : place->vm;
}

/* What NCCL itself counted decides: several containers may have one name. 1, 0; -1: hosts are to be asked. */
static int cross_by_count(const struct job_communicator *communicator, int is_pair)
{
    int64_t nodes = communicator->node_count;
    if (nodes <= 0)
        return -1;
    if (nodes == 1)
        return 0;
    return !is_pair || nodes == communicator->size ? 1 : -1;
}

int report_places_cross(const struct report_places *places, int32_t communicator)
{
    const struct job_communicator *of = &places->roster->communicators[communicator];
    int crosses = cross_by_count(of, 0);
    if (crosses >= 0)
        return crosses;
    int64_t node = -1;
    int is_known = of->size > 0;
    for (int64_t i = 0; i < of->size && is_known; i++) {
        int32_t rank = report_places_seat(places, communicator, i);
        int64_t at = rank < 0 ? -1 : node_of(places, rank);
        if (at >= 0 && node >= 0 && at != node)
            return 1;
        is_known = at >= 0;
        node = at;
    }
    return is_known ? 0 : -1;
}

int report_places_pair_crosses(const struct report_places *places, int32_t communicator, int64_t one,
                               int64_t other)
{
    int crosses = cross_by_count(&places->roster->communicators[communicator], 1);
    if (crosses >= 0)
        return crosses;
    int32_t left = report_places_seat(places, communicator, one);
    int32_t right = report_places_seat(places, communicator, other);
    int64_t left_node = left < 0 ? -1 : node_of(places, left);
    int64_t right_node = right < 0 ? -1 : node_of(places, right);
    return left_node < 0 || right_node < 0 ? -1 : left_node != right_node;
}
