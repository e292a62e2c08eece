/*
 * Descriptions of calls in a store without operations: the rows of report, and ranks that described fewer
 * calls than the other ranks of a group.
 */
#include "base/base.h"
#include "input/input.h"
#include "model/model.h"
#include "report/groups.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* Columns of the statement `descriptions`. */
enum { RANK, NAME, SOURCE, BYTES, DEVICE, GPU_SERIAL, VM, PEER, GROUP };

int report_descriptions_count(struct store *store, int64_t *count, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_analysis_report_description_count, error);
    int row = statement ? statement_step(statement, error) : -1;
    *count = row == 1 ? statement_integer(statement, 0) : 0;
    statement_free(statement);
    return row < 0 ? -1 : 0;
}

static const char *name_of_function(const char *name)
{
    struct call_kind kind = call_kind_of(name);
    if (kind.is_barrier)
        return function_name(FUNCTION_BARRIER);
    return kind.function > FUNCTION_OTHER ? function_name(kind.function) : name;
}

/* Descriptions have no steps and no tags. */
static int is_looked_at(const struct report_groups *report, struct statement *row)
{
    const struct filter *filter = report->filter;
    return !filter_is_of_steps(filter) && !filter->tag && !report->cross_node &&
           filter_is_text(filter->communicator, statement_text(row, GROUP)) &&
           filter_has_rank(filter, statement_integer(row, RANK));
}

static int take(struct report_groups *report, struct statement *row)
{
    if (!is_looked_at(report, row))
        return 0;
    int64_t rank = statement_integer(row, RANK), message = statement_integer_or(row, BYTES, 0);
    struct report_row described = {.instance = -1,
                                   .operations = 1,
                                   .transfer_ns = TIME_UNKNOWN,
                                   .effective_ns = TIME_UNKNOWN,
                                   .wait_ns = TIME_UNKNOWN,
                                   .message_bytes = message,
                                   .is_described = 1};
    for (int i = 0; i < KEY_COUNT; i++)
        described.key[i] = -1;
    described.key[KEY_RANK] = report_groups_rank(report, rank);
    described.key[KEY_FUNCTION] = report_groups_text(report, name_of_function(statement_text(row, NAME)));
    described.key[KEY_SOURCE] = report_groups_text(report, statement_text(row, SOURCE));
    described.key[KEY_GPU_SERIAL] = report_groups_text(report, statement_text(row, GPU_SERIAL));
    described.key[KEY_VM] = report_groups_text(report, statement_text(row, VM));
    described.key[KEY_COMMUNICATOR] = report_groups_text(report, statement_text(row, GROUP));
    described.key[KEY_DEVICE] = statement_integer_or(row, DEVICE, -1);
    described.key[KEY_PEER] = statement_integer_or(row, PEER, -1);
    return report_groups_add_named(report, &described);
}

int report_descriptions_read(struct report_groups *report, struct store *store, struct error *error)
{
    return report_groups_take_all(report, store, schema_analysis_report_descriptions, take, error);
}

/* Most ranks, and most kinds of calls, that notes name. */
enum { NAMED_MOST = 4 };

/* Calls of one name on one group. */
struct call_group {
    int64_t name;     /* number in `texts` */
    int64_t group;    /* number in `texts` of the list of its ranks; -1: all ranks */
    int64_t *members; /* owned: ranks of the list, ascending */
    size_t member_count;
};

/* A rank that described calls, and its latest call of a group; point-to-point calls do not show who waits. */
struct describer {
    int64_t rank;
    int64_t latest; /* index of the call's group; -1: none */
    int64_t number; /* its number there, from 1 */
    int64_t source; /* number of its text; -1 */
};

struct described_calls {
    struct intern texts;
    struct map by_call;        /* (name, group) -> index in `groups` */
    struct map by_rank;        /* rank -> index in `ranks` */
    struct map counts;         /* (index in `groups`, rank) -> calls */
    struct call_group *groups; /* owned, like ranks */
    size_t group_count;
    size_t group_capacity;
    struct describer *ranks;
    size_t rank_count;
    size_t rank_capacity;
    int64_t count;
};

static void described_calls_init(struct described_calls *calls)
{
    *calls = (struct described_calls){.count = 0};
    intern_init(&calls->texts);
    map_init(&calls->by_call);
    map_init(&calls->by_rank);
    map_init(&calls->counts);
}

static void described_calls_release(struct described_calls *calls)
{
    for (size_t i = 0; i < calls->group_count; i++)
        free(calls->groups[i].members);
    free(calls->groups);
    free(calls->ranks);
    intern_release(&calls->texts);
    map_release(&calls->by_call);
    map_release(&calls->by_rank);
    map_release(&calls->counts);
}

static int64_t text_number(struct described_calls *calls, const char *text)
{
    return intern_put(&calls->texts, text, strlen(text));
}

static int by_number(const void *a, const void *b)
{
    return compare_integers(*(const int64_t *)a, *(const int64_t *)b);
}

/* Reads a list such as "[0,4,8]", which the store has checked. */
static int read_members(struct call_group *group, const char *list)
{
    size_t capacity = 0;
    for (const char *at = list + strcspn(list, "0123456789"); *at; at += strcspn(at, "0123456789")) {
        size_t digits = strspn(at, "0123456789");
        int64_t rank;
        if (number_int64(at, digits, &rank) == 0) {
            if (array_reserve((void **)&group->members, &capacity, group->member_count + 1,
                              sizeof *group->members))
                return -1;
            group->members[group->member_count++] = rank;
        }
        at += digits;
    }
    array_sort(group->members, group->member_count, sizeof *group->members, by_number);
    return 0;
}

/* Returns the index of the calls of this name on this group; -1 when memory is out. */
static int64_t find_group(struct described_calls *calls, const char *name, const char *list)
{
    struct call_group group = {text_number(calls, name), list ? text_number(calls, list) : -1, NULL, 0};
    int added;
    if (group.name < 0 || (list && group.group < 0))
        return -1;
    int64_t *at = map_put(&calls->by_call, (struct map_key){{(uint64_t)group.name, (uint64_t)group.group}},
                          (int64_t)calls->group_count, &added);
    if (!at || !added)
        return at ? *at : -1;
    if (array_reserve((void **)&calls->groups, &calls->group_capacity, calls->group_count + 1,
                      sizeof *calls->groups))
        return -1;
    calls->groups[calls->group_count] = group;
    return list && read_members(&calls->groups[calls->group_count], list) ? -1
                                                                          : (int64_t)calls->group_count++;
}

static struct describer *find_rank(struct described_calls *calls, int64_t rank)
{
    int added;
    int64_t *at =
        map_put(&calls->by_rank, (struct map_key){{(uint64_t)rank}}, (int64_t)calls->rank_count, &added);
    if (!at || (added && array_reserve((void **)&calls->ranks, &calls->rank_capacity, calls->rank_count + 1,
                                       sizeof *calls->ranks)))
        return NULL;
    if (added)
        calls->ranks[calls->rank_count++] = (struct describer){rank, -1, 0, -1};
    return &calls->ranks[*at];
}

static int take_call(struct described_calls *calls, struct statement *row)
{
    const char *list = statement_text(row, GROUP), *source = statement_text(row, SOURCE);
    int64_t rank = statement_integer(row, RANK);
    struct describer *describer = find_rank(calls, rank);
    calls->count++;
    if (!describer)
        return -1;
    /* A list that was cut off is empty. */
    if (!statement_is_null(row, PEER) || (list && !*list))
        return 0;
    int64_t group = find_group(calls, statement_text(row, NAME), list);
    int64_t *count =
        group < 0 ? NULL
                  : map_put(&calls->counts, (struct map_key){{(uint64_t)group, (uint64_t)rank}}, 0, NULL);
    if (!count)
        return -1;
    describer->latest = group;
    describer->number = ++*count;
    describer->source = source ? text_number(calls, source) : -1;
    return source && describer->source < 0 ? -1 : 0;
}

static int read_calls(struct described_calls *calls, struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_report_descriptions, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_call(calls, row))
            more = error_no_memory(error);
    statement_free(row);
    return more;
}

static int is_member(const struct call_group *group, int64_t rank)
{
    size_t low = 0, high = group->member_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (group->members[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return group->group < 0 || (low < group->member_count && group->members[low] == rank);
}

static int64_t calls_of(const struct described_calls *calls, size_t group, int64_t rank)
{
    const int64_t *count = map_get(&calls->counts, (struct map_key){{(uint64_t)group, (uint64_t)rank}});
    return count ? *count : 0;
}

/* How many calls the members of a group described. Ranks without any description may just not be here. */
struct tally {
    int64_t ranks;
    int64_t most;
    int64_t least;
    int64_t with_most;
};

static struct tally count_members(const struct described_calls *calls, size_t group)
{
    struct tally tally = {.least = INT64_MAX};
    for (size_t i = 0; i < calls->rank_count; i++) {
        if (!is_member(&calls->groups[group], calls->ranks[i].rank))
            continue;
        int64_t count = calls_of(calls, group, calls->ranks[i].rank);
        tally.ranks++;
        tally.with_most = count > tally.most ? 0 : tally.with_most;
        tally.most = count > tally.most ? count : tally.most;
        tally.least = count < tally.least ? count : tally.least;
        tally.with_most += count == tally.most;
    }
    return tally;
}

/* Whether a rank waits in its latest call, because another member has not made that one. */
static int waits(const struct described_calls *calls, const struct tally *tallies,
                 const struct describer *rank)
{
    return rank->latest >= 0 && tallies[rank->latest].least < rank->number;
}

/* "rank 2 (last all_reduce at train.py:41) described 7 calls of all_reduce, 3 of 4 ranks described 8" */
static int append_rank(const struct described_calls *calls, size_t group, const struct describer *rank,
                       struct buffer *text)
{
    if (buffer_printf(text, "%srank %lld described %lld", text->length ? ", " : "", (long long)rank->rank,
                      (long long)calls_of(calls, group, rank->rank)))
        return -1;
    if (rank->latest < 0)
        return 0;
    return buffer_printf(text, " (its last call: %s",
                         intern_text(&calls->texts, calls->groups[rank->latest].name)) ||
           (rank->source >= 0 && buffer_printf(text, " at %s", intern_text(&calls->texts, rank->source))) ||
           buffer_append_byte(text, ')');
}

/* Notes the members of a group that described fewer calls and do not wait in another call themselves. */
static int tell_group(const struct described_calls *calls, const struct tally *tallies, size_t group,
                      int *told, struct table *table, struct error *error)
{
    const struct call_group *of = &calls->groups[group];
    const struct tally *tally = &tallies[group];
    struct buffer text = BUFFER_INIT;
    int failed = 0, fewer = 0;
    for (size_t i = 0; i < calls->rank_count && !failed; i++) {
        const struct describer *rank = &calls->ranks[i];
        if (!is_member(of, rank->rank) || calls_of(calls, group, rank->rank) == tally->most ||
            waits(calls, tallies, rank))
            continue;
        failed = ++fewer <= NAMED_MOST && append_rank(calls, group, rank, &text);
    }
    if (failed)
        error_no_memory(error);
    else if (fewer)
        failed = table_add_warning(
            table, error,
            "call descriptions: %lld of %lld ranks%s%s described %lld call%s of %s, %s%s. %s never made the "
            "next call, in which the others wait, unless its output was cut off",
            (long long)tally->with_most, (long long)tally->ranks, of->group < 0 ? "" : " in group ",
            of->group < 0 ? "" : intern_text(&calls->texts, of->group), (long long)tally->most,
            tally->most == 1 ? "" : "s", intern_text(&calls->texts, of->name), text.data,
            fewer > NAMED_MOST ? " and more ranks fewer" : "", fewer == 1 ? "It" : "They");
    *told += fewer > 0;
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int tell_groups(const struct described_calls *calls, int *told, struct table *table,
                       struct error *error)
{
    struct tally *tallies = array_new(calls->group_count + 1, sizeof *tallies);
    if (!tallies)
        return error_no_memory(error);
    for (size_t i = 0; i < calls->group_count; i++)
        tallies[i] = count_members(calls, i);
    int failed = 0;
    for (size_t i = 0; i < calls->group_count && !failed && *told < NAMED_MOST; i++)
        if (tallies[i].with_most * 2 > tallies[i].ranks && tallies[i].least < tallies[i].most)
            failed = tell_group(calls, tallies, i, told, table, error);
    free(tallies);
    return failed;
}

int caution_described_calls(struct store *store, int *told, struct table *table, struct error *error)
{
    struct described_calls calls;
    described_calls_init(&calls);
    int failed = read_calls(&calls, store, error) || tell_groups(&calls, told, table, error);
    if (!failed && calls.count)
        failed =
            table_add_warning(table, error,
                              "%lld call description%s of %zu rank%s, without a trace of the operations; "
                              "list them with",
                              (long long)calls.count, calls.count == 1 ? "" : "s", calls.rank_count,
                              calls.rank_count == 1 ? "" : "s") ||
            warning_add_command(table, store, 0, "report --by source,function,rank", error);
    described_calls_release(&calls);
    return failed ? -1 : 0;
}
