#include "store/roster.h"

#include "base/array.h"
#include "base/ids.h"
#include "schemas.h"
#include "store/members.h"
#include "store/statement.h"

#include <stdlib.h>
#include <string.h>

static struct map_key key_of(int64_t id)
{
    return (struct map_key){{(uint64_t)id}};
}

static char *copy_text(struct statement *row, int column)
{
    const char *text = statement_text(row, column);
    return strdup(text ? text : "");
}

static int32_t run_of(const struct roster *roster, int64_t id)
{
    return (int32_t)find_id(roster->runs, roster->run_count, sizeof *roster->runs, 0, id);
}

/* Each takes a row, but for one of what is not there; -1 when memory is out. */
typedef int (*row_taker)(struct roster *roster, struct statement *row);

static int take_run(struct roster *roster, struct statement *row)
{
    if (array_reserve((void **)&roster->runs, &roster->run_capacity, roster->run_count + 1,
                      sizeof *roster->runs))
        return -1;
    struct roster_run *run = &roster->runs[roster->run_count++];
    *run = (struct roster_run){.id = statement_integer(row, 0),
                               .expected_ranks = statement_integer(row, 1),
                               .step_count = statement_integer(row, 2),
                               .step_source = copy_text(row, 3),
                               .has_global_ranks = statement_integer(row, 4) != 0,
                               .name = copy_text(row, 5),
                               .first_step = statement_integer(row, 6),
                               .step_base = statement_integer(row, 7)};
    return run->step_source && run->name ? 0 : -1;
}

static int take_rank(struct roster *roster, struct statement *row)
{
    int32_t run = run_of(roster, statement_integer(row, 1));
    if (run < 0)
        return 0;
    if (array_reserve((void **)&roster->ranks, &roster->rank_capacity, roster->rank_count + 1,
                      sizeof *roster->ranks) ||
        !map_put(&roster->rank_of, key_of(statement_integer(row, 0)), (int64_t)roster->rank_count, NULL))
        return -1;
    if (!roster->runs[run].rank_count++)
        roster->runs[run].first_rank = roster->rank_count;
    struct roster_rank *rank = &roster->ranks[roster->rank_count++];
    *rank = (struct roster_rank){.id = statement_integer(row, 0),
                                 .run = run,
                                 .process_id = statement_integer_or(row, 2, -1),
                                 .global_rank = statement_integer_or(row, 3, -1),
                                 .name = copy_text(row, 4),
                                 .facts = {.local_rank = COUNT_UNKNOWN, .gpu = COUNT_UNKNOWN}};
    return rank->name ? 0 : -1;
}

static int take_communicator(struct roster *roster, struct statement *row)
{
    int32_t run = run_of(roster, statement_integer(row, 1));
    if (run < 0)
        return 0;
    if (array_reserve((void **)&roster->communicators, &roster->communicator_capacity,
                      roster->communicator_count + 1, sizeof *roster->communicators))
        return -1;
    struct job_communicator *communicator = &roster->communicators[roster->communicator_count++];
    *communicator = (struct job_communicator){.id = statement_integer(row, 0),
                                              .run = run,
                                              .size = statement_integer(row, 2),
                                              .size_is_known = statement_integer(row, 3) != 0,
                                              .hash = statement_integer(row, 4),
                                              .node_count = statement_integer_or(row, 7, 0),
                                              .silent = -1,
                                              .label = copy_text(row, 5)};
    const char *members = statement_text(row, 6);
    return communicator->label && (!members || members_read(members, &communicator->members,
                                                            &communicator->member_count) == 0)
               ? 0
               : -1;
}

static int take_member(struct roster *roster, struct statement *row)
{
    const struct roster_member member = {.id = statement_integer(row, 0),
                                         .communicator =
                                             roster_communicator(roster, statement_integer(row, 1)),
                                         .number = statement_integer(row, 2),
                                         .rank = roster_rank(roster, statement_integer(row, 3))};
    if (member.communicator < 0 || member.rank < 0)
        return 0;
    if (array_reserve((void **)&roster->members, &roster->member_capacity, roster->member_count + 1,
                      sizeof *roster->members) ||
        !map_put(&roster->member_of, key_of(member.id), (int64_t)roster->member_count, NULL))
        return -1;
    roster->members[roster->member_count++] = member;
    return 0;
}

static int keep_first(char **kept, struct statement *row, int column)
{
    const char *text = *kept ? NULL : statement_text(row, column);
    return text && !(*kept = strdup(text)) ? -1 : 0;
}

static int take_facts(struct roster *roster, struct statement *row)
{
    int32_t number = roster_rank(roster, statement_integer(row, 0));
    if (number < 0)
        return 0;
    struct roster_facts *facts = &roster->ranks[number].facts;
    if (facts->local_rank == COUNT_UNKNOWN)
        facts->local_rank = statement_integer_or(row, 3, COUNT_UNKNOWN);
    if (facts->gpu == COUNT_UNKNOWN)
        facts->gpu = statement_integer_or(row, 4, COUNT_UNKNOWN);
    return keep_first(&facts->host, row, 1) || keep_first(&facts->host, row, 2) ||
                   keep_first(&facts->gpu_bus_id, row, 5) || keep_first(&facts->gpu_serial, row, 6) ||
                   keep_first(&facts->nic, row, 7) || keep_first(&facts->rank_name, row, 8) ||
                   keep_first(&facts->vm, row, 9)
               ? -1
               : 0;
}

static int take_rows(struct roster *roster, struct store *store, const char *sql, int64_t run_id,
                     row_taker take, struct error *error)
{
    struct statement *row = store_prepare_for(store, sql, run_id, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take(roster, row))
            more = error_no_memory(error);
    statement_free(row);
    return more;
}

int roster_load(struct roster *roster, struct store *store, int64_t run_id, struct error *error)
{
    *roster = (struct roster){.runs = NULL};
    map_init(&roster->rank_of);
    map_init(&roster->member_of);
    return take_rows(roster, store, schema_meta_roster_runs, run_id, take_run, error) ||
                   take_rows(roster, store, schema_meta_roster_ranks, run_id, take_rank, error) ||
                   take_rows(roster, store, schema_meta_roster_communicators, run_id, take_communicator,
                             error)
               ? -1
               : 0;
}

static struct run_ranks ranks_of(const struct roster *roster, const struct roster_run *run)
{
    const struct roster_rank *ranks = roster->ranks;
    if (!run->rank_count)
        return (struct run_ranks){.expected = run->expected_ranks};
    return (struct run_ranks){.global_ranks = &ranks->global_rank,
                              .process_ids = &ranks->process_id,
                              .bytes = sizeof *ranks,
                              .first = run->first_rank,
                              .count = run->rank_count,
                              .expected = run->expected_ranks};
}

/* In order of their numbers: of several that claim one the last has it. */
static int seat_members(struct roster *roster)
{
    for (size_t i = 0; i < roster->member_count; i++) {
        const struct roster_member *member = &roster->members[i];
        if (job_seat(&roster->communicators[member->communicator], member->number, member->rank))
            return -1;
    }
    return 0;
}

static int seat_others(struct roster *roster)
{
    struct silent_ranks *silent = array_new(roster->run_count, sizeof *silent);
    int failed = !silent;
    for (size_t i = 0; !failed && i < roster->run_count; i++) {
        struct run_ranks ranks = ranks_of(roster, &roster->runs[i]);
        silent[i] = run_silent_ranks(&ranks);
    }
    for (size_t i = 0; !failed && i < roster->communicator_count; i++) {
        struct job_communicator *communicator = &roster->communicators[i];
        struct run_ranks ranks = ranks_of(roster, &roster->runs[communicator->run]);
        failed = job_seat_told(&ranks, communicator);
        job_seat_silent(&ranks, silent[communicator->run], communicator);
    }
    free(silent);
    return failed;
}

int roster_load_members(struct roster *roster, struct store *store, int64_t run_id, struct error *error)
{
    if (take_rows(roster, store, schema_meta_roster_members, run_id, take_member, error))
        return -1;
    return seat_members(roster) || seat_others(roster) ? error_no_memory(error) : 0;
}

int roster_load_facts(struct roster *roster, struct store *store, int64_t run_id, struct error *error)
{
    return take_rows(roster, store, schema_meta_roster_facts, run_id, take_facts, error) ||
                   take_rows(roster, store, schema_meta_roster_witness_facts, run_id, take_facts, error)
               ? -1
               : 0;
}

void roster_facts_release(struct roster_facts *facts)
{
    free(facts->host);
    free(facts->gpu_bus_id);
    free(facts->gpu_serial);
    free(facts->nic);
    free(facts->rank_name);
    free(facts->vm);
    *facts = (struct roster_facts){.local_rank = COUNT_UNKNOWN, .gpu = COUNT_UNKNOWN};
}

void roster_release(struct roster *roster)
{
    for (size_t i = 0; i < roster->run_count; i++) {
        free(roster->runs[i].step_source);
        free(roster->runs[i].name);
    }
    for (size_t i = 0; i < roster->rank_count; i++) {
        free(roster->ranks[i].name);
        roster_facts_release(&roster->ranks[i].facts);
    }
    for (size_t i = 0; i < roster->communicator_count; i++)
        job_communicator_release(&roster->communicators[i]);
    free(roster->runs);
    free(roster->ranks);
    free(roster->communicators);
    free(roster->members);
    map_release(&roster->rank_of);
    map_release(&roster->member_of);
    *roster = (struct roster){.runs = NULL};
}

static int64_t index_of(const struct map *map, int64_t id)
{
    const int64_t *index = map_get(map, key_of(id));
    return index ? *index : -1;
}

int32_t roster_rank(const struct roster *roster, int64_t id)
{
    return (int32_t)index_of(&roster->rank_of, id);
}

int32_t roster_communicator(const struct roster *roster, int64_t id)
{
    return (int32_t)find_id(roster->communicators, roster->communicator_count, sizeof *roster->communicators,
                            0, id);
}

int32_t roster_rank_in(const struct roster *roster, int32_t communicator, int64_t number)
{
    const struct job_communicator *of = &roster->communicators[communicator];
    struct run_ranks ranks = ranks_of(roster, &roster->runs[of->run]);
    return run_rank_in(&ranks, of, number);
}

const struct roster_member *roster_member(const struct roster *roster, int64_t id)
{
    int64_t index = index_of(&roster->member_of, id);
    return index < 0 ? NULL : &roster->members[index];
}
