/*
 * The ranks, communicators and members of a joined store, in memory, with the rules that place ranks which
 * recorded nothing.
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/store.h"

#include "schemas.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number and returns the position after it. NULL if there is none, or it is larger than a C int. */
static const char *read_rank(const char *text, int64_t *rank)
{
    *rank = 0;
    if (!isdigit((unsigned char)*text))
        return NULL;
    for (; isdigit((unsigned char)*text) && *rank < INT32_MAX; text++)
        *rank = *rank * 10 + (*text - '0');
    return *rank < INT32_MAX ? text : NULL;
}

/* The number of ranks; 0 if the text is not a list of ranks. */
static size_t read_list(const char *text, int64_t *ranks)
{
    size_t count = 0;
    if (*text != '[')
        return 0;
    do {
        text = read_rank(text + 1, &ranks[count++]);
    } while (text && *text == ',');
    return text && strcmp(text, "]") == 0 ? count : 0;
}

/* 1: all are distinct; 0: not so; -1: out of memory. */
static int are_distinct(const int64_t *ranks, size_t count)
{
    int64_t *sorted = array_new(count, sizeof *sorted);
    if (!sorted)
        return -1;
    memcpy(sorted, ranks, count * sizeof *sorted);
    sort_integers(sorted, count);
    int distinct = 1;
    for (size_t i = 1; i < count; i++)
        distinct &= sorted[i] != sorted[i - 1];
    free(sorted);
    return distinct;
}

int members_read(const char *text, int64_t **ranks, size_t *count)
{
    *count = 0;
    /* Each rank takes at least two bytes of text. */
    *ranks = array_new(strlen(text) / 2 + 1, sizeof **ranks);
    if (!*ranks)
        return -1;
    size_t found = read_list(text, *ranks);
    int distinct = found ? are_distinct(*ranks, found) : 0;
    if (distinct < 0)
        return -1;
    *count = distinct ? found : 0;
    return 0;
}

/*
 * Members of communicators. Numbers and sizes come from a trace and may be arbitrarily large, so no
 * allocation depends on them.
 */

int communicator_set_member(struct job_communicator *communicator, int64_t number, int32_t rank)
{
    if (number < 0 || number >= communicator->size)
        return 0;
    size_t count = communicator->member_list_count;
    if (count && communicator->member_list[count - 1].number == number) {
        communicator->member_list[count - 1].rank = rank;
        return 0;
    }
    if (array_reserve((void **)&communicator->member_list, &communicator->member_capacity, count + 1,
                      sizeof *communicator->member_list))
        return -1;
    communicator->member_list[communicator->member_list_count++] =
        (struct communicator_set_member){number, rank};
    return 0;
}

static int is_member_before(const void *member, const void *number)
{
    return ((const struct communicator_set_member *)member)->number < *(const int64_t *)number;
}

static int32_t seated(const struct communicator_set_member *member_list, size_t count, int64_t number)
{
    if ((size_t)number < count && member_list[number].number == number)
        return member_list[number].rank;
    size_t at = lower_bound(member_list, count, sizeof *member_list, is_member_before, &number);
    return at < count && member_list[at].number == number ? member_list[at].rank : -1;
}

int32_t communicator_recorded_rank(const struct job_communicator *communicator, int64_t number)
{
    return number < 0 ? -1 : seated(communicator->member_list, communicator->member_list_count, number);
}

static int64_t at(const int64_t *numbers, const struct run_ranks *run, size_t rank)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a run that has ranks has their numbers */
    return *(const int64_t *)((const char *)numbers + rank * run->bytes);
}

static int is_rank_before(const void *global_rank, const void *number)
{
    int64_t rank = *(const int64_t *)global_rank;
    return rank >= 0 && rank < *(const int64_t *)number;
}

int32_t run_rank_numbered(const struct run_ranks *run, int64_t global_rank)
{
    if (!run->count)
        return -1;
    const char *first = (const char *)run->global_ranks + run->first * run->bytes;
    size_t found = lower_bound(first, run->count, run->bytes, is_rank_before, &global_rank);
    size_t rank = run->first + found;
    return found < run->count && at(run->global_ranks, run, rank) == global_rank ? (int32_t)rank : -1;
}

struct silent_ranks run_silent_ranks(const struct run_ranks *run)
{
    struct silent_ranks silent = {0, -1};
    for (size_t i = run->first; i < run->first + run->count; i++)
        if (at(run->process_ids, run, i) < 0) {
            silent.last = (int32_t)i;
            silent.count++;
        }
    return silent;
}

static int agrees(const struct run_ranks *run, const struct job_communicator *communicator)
{
    if ((int64_t)communicator->member_count != communicator->size)
        return 0;
    for (size_t i = 0; i < communicator->member_list_count; i++) {
        const struct communicator_set_member *member = &communicator->member_list[i];
        if ((uint64_t)member->number >= communicator->member_count ||
            at(run->global_ranks, run, (size_t)member->rank) != communicator->members[member->number])
            return 0;
    }
    return 1;
}

int communicator_add_listed_members(const struct run_ranks *run, struct job_communicator *communicator)
{
    size_t count = communicator->member_count;
    if (!count || !agrees(run, communicator))
        return 0;
    communicator->told = array_new(count, sizeof *communicator->told);
    if (!communicator->told)
        return -1;
    for (size_t i = 0; i < count; i++) {
        int is_seated = communicator_recorded_rank(communicator, (int64_t)i) >= 0;
        int32_t rank = is_seated ? -1 : run_rank_numbered(run, communicator->members[i]);
        if (rank >= 0)
            communicator->told[communicator->told_count++] =
                (struct communicator_set_member){(int64_t)i, rank};
    }
    return 0;
}

/* Whether the members' numbers equal their global ranks. */
static int has_global_numbers(const struct run_ranks *run, const struct job_communicator *communicator)
{
    for (size_t i = 0; i < communicator->member_list_count; i++) {
        int64_t global_rank = at(run->global_ranks, run, (size_t)communicator->member_list[i].rank);
        if (global_rank >= 0 && global_rank != communicator->member_list[i].number)
            return 0;
    }
    return 1;
}

/*
 * Ranks that recorded nothing have no members. In the communicator of all ranks their number is their global
 * rank. In any other communicator a free number can only be placed if exactly one rank recorded nothing.
 */
void communicator_place_silent_ranks(const struct run_ranks *run, struct silent_ranks silent,
                                     struct job_communicator *communicator)
{
    if (!silent.count || communicator->told_count)
        return;
    communicator->is_whole = communicator->size == run->expected && has_global_numbers(run, communicator);
    if (silent.count == 1 && (int64_t)communicator->member_list_count < communicator->size)
        communicator->silent = silent.last;
}

int32_t run_rank_in(const struct run_ranks *run, const struct job_communicator *communicator, int64_t number)
{
    if (number < 0 || number >= communicator->size)
        return -1;
    int32_t rank = communicator_recorded_rank(communicator, number);
    if (rank < 0)
        rank = seated(communicator->told, communicator->told_count, number);
    if (rank < 0 && communicator->is_whole)
        rank = run_rank_numbered(run, number);
    return rank >= 0 ? rank : communicator->silent;
}

void job_communicator_release(struct job_communicator *communicator)
{
    free(communicator->label);
    free(communicator->members);
    free(communicator->member_list);
    free(communicator->told);
    *communicator = (struct job_communicator){.silent = -1};
}

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

/* Reads one row; a row that refers to something unknown is ignored. -1 if memory is out. */
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

/* Adds the members in order of their numbers; if several have the same number, the last one wins. */
static int set_communicator_members(struct roster *roster)
{
    for (size_t i = 0; i < roster->member_count; i++) {
        const struct roster_member *member = &roster->members[i];
        if (communicator_set_member(&roster->communicators[member->communicator], member->number,
                                    member->rank))
            return -1;
    }
    return 0;
}

static int member_others(struct roster *roster)
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
        failed = communicator_add_listed_members(&ranks, communicator);
        communicator_place_silent_ranks(&ranks, silent[communicator->run], communicator);
    }
    free(silent);
    return failed;
}

int roster_load_members(struct roster *roster, struct store *store, int64_t run_id, struct error *error)
{
    if (take_rows(roster, store, schema_meta_roster_members, run_id, take_member, error))
        return -1;
    return set_communicator_members(roster) || member_others(roster) ? error_no_memory(error) : 0;
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
