/*
 * Reads the text report of `ncclras` line by line: the summary, processes that are gone, ranks that did not
 * answer, operation counts, and errors.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/nccl_ras/nccl_ras.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* Communicators with the same size, nodes and state form a group, which is one row of the summary. */
enum { GROUPS_MOST = 1 << 16 };

/* Limit on the ranks handed over that are only counted, as a few bytes may count any number. */
enum { COUNTED_MOST = 1 << 17 };

enum section {
    SECTION_OTHER,
    SECTION_DEAD,       /* processes that RAS considers dead */
    SECTION_SILENT,     /* processes that did not answer */
    SECTION_INCOMPLETE, /* ranks of a communicator that did not answer */
    SECTION_COUNTS,     /* how many operations of a function each rank of a communicator launched */
    SECTION_ERROR,      /* NCCL errors on ranks of communicators */
    SECTION_STATUS      /* states of ranks; not read */
};

/* A row of the summary. */
struct group {
    int64_t size;   /* 0: not given */
    int is_aborted; /* its ranks are aborted */
};

struct report {
    const struct format_sink *sink;
    struct ras_members *member_list;
    struct map places; /* (communicator, rank) -> index of its member */
    struct map
        processes; /* (host, pid) of dead and silent processes -> index of the member that represents each */
    int64_t gone;  /* number of dead and silent processes, listed or not */
    size_t listed_gone;   /* 1 + index of the last member that represents one; 0: none */
    struct map functions; /* communicator -> a bit for each function with different counts */
    struct map silent;    /* communicator -> number of its listed ranks that did not answer */
    struct group *groups; /* owned */
    size_t group_count;
    size_t group_capacity;
    int is_aborted; /* the group of the communicator being read is aborted */
    enum section section;
    int in_summary;
    int is_begun;
    int has_warnings; /* the last section of a report was reached */

    /* Of the error section being read. */
    int is_initialization;
    int64_t result; /* of the ranks that follow */

    /* Of the counts section being read. */
    int function;
    int64_t listed; /* ranks listed in all groups */
    struct {
        int64_t ranks;  /* that launched up to `value` */
        int64_t listed; /* number of those that are listed */
        int64_t value;
    } group;
    int64_t rest_groups; /* groups with ranks that are not listed */
    int64_t rest_ranks;
    int64_t rest_value;
    int64_t counted; /* total of ranks handed over that no line lists */
};

static int note(const struct report *report, const char *reason, int damage, const struct input_line *line,
                struct error *error)
{
    return report->sink->note(report->sink->context, reason, damage, line->offset, line->text, line->length,
                              error);
}

static int leading_number(struct text text, int64_t *value)
{
    struct text word = text_word(text);
    return number_int64(word.data, word.length, value) || *value < 0 ? -1 : 0;
}

/* "GPU 0 (NVML 3) managed by process 41 on node 10.0.0.1"; all unknown for "[process ...". */
static int take_process(struct ras_members *member_list, struct text text, struct ras_member *member)
{
    struct text process = text_after(text, " managed by process ");
    struct text host = text_after(text, " on node ");
    if (!process.data || !host.data || !text_begins(text, "GPU "))
        return 0;
    if (leading_number(text_after(text, "GPU "), &member->gpu))
        member->gpu = COUNT_UNKNOWN;
    if (leading_number(process, &member->pid))
        member->pid = COUNT_UNKNOWN;
    return ras_members_host(member_list, host.data, host.length, &member->host);
}

/* The member for a rank of the communicator being read; it is added if it is new. NULL if memory is out. */
static struct ras_member *find_communicator_member(struct report *report, int64_t rank, uint64_t offset)
{
    struct ras_members *member_list = report->member_list;
    struct map_key key = {{member_list->communicator_hash, (uint64_t)rank}};
    struct ras_member member =
        ras_member_of(member_list->communicator_hash, member_list->communicator_size, rank, offset);
    int added = 0;
    int64_t *index = map_put(&report->places, key, (int64_t)member_list->count, &added);
    if (!index || (added && ras_members_put(member_list, &member)))
        return NULL;
    return &member_list->items[*index];
}

/* The rank of a listed process is now known, so the member that represented the process alone is removed. */
static enum warning_kind silence_of(struct report *report, const struct ras_member *member)
{
    struct map_key key = {{(uint64_t)member->host, (uint64_t)member->pid}};
    const int64_t *index = member->host < 0 ? NULL : map_get(&report->processes, key);
    if (!index)
        return WARNING_SILENT;
    report->member_list->items[*index].is_void = 1;
    return report->member_list->items[*index].missing;
}

static int take_silent(struct report *report, struct ras_member *member, struct error *error)
{
    int64_t *count = map_put(&report->silent, (struct map_key){{member->communicator_hash}}, 0, NULL);
    if (!count)
        return error_no_memory(error);
    *count += member->missing == WARNING_OTHER;
    member->missing = silence_of(report, member);
    return 0;
}

/* "... reported an internal error" */
static int64_t result_in(struct text text)
{
    static const struct {
        const char *word;
        int64_t result;
    } results[] = {
        {"CUDA", RAS_RESULT_CUDA},          {"ystem error", RAS_RESULT_SYSTEM},
        {"nternal", RAS_RESULT_INTERNAL},   {"nvalid argument", RAS_RESULT_ARGUMENT},
        {"nvalid usage", RAS_RESULT_USAGE}, {"emote", RAS_RESULT_REMOTE},
    };
    struct text said = text_after(text, " reported ");
    const char *past = said.data ? memmem(said.data, said.length, " -- ", 4) : NULL;
    said.length = past ? (size_t)(past - said.data) : said.length;
    for (size_t i = 0; said.data && i < sizeof results / sizeof *results; i++)
        if (text_contains(said, results[i].word))
            return results[i].result;
    return RAS_RESULT_OTHER;
}

static int take_error(const struct report *report, struct ras_member *member)
{
    member->error = report->result;
    member->is_aborted = report->is_aborted;
    return 0;
}

/* "  Rank 7 has launched up to operation 60 -- GPU ...". Without a number, that of its group is used. */
static int take_rank(struct report *report, struct text text, const struct input_line *line,
                     struct error *error)
{
    struct text after = text_after(text, "  Rank ");
    struct text count = text_after(text, " has launched up to operation ");
    struct text process = text_after(text, " -- ");
    int64_t rank, value = report->group.value;
    if (leading_number(after, &rank) || (count.data && leading_number(count, &value)))
        return note(report, "unreadable value", 1, line, error);
    if (report->member_list->count >= RAS_MEMBERS_MOST)
        return note(report, "more ranks than a job can have", 1, line, error);
    struct ras_member *member = find_communicator_member(report, rank, line->offset);
    if (!member || (process.data && take_process(report->member_list, process, member)))
        return error_no_memory(error);
    if (report->section == SECTION_INCOMPLETE)
        return take_silent(report, member, error);
    if (report->section == SECTION_ERROR)
        return take_error(report, member);
    report->listed += member->counts[report->function] == COUNT_UNKNOWN;
    report->group.listed++;
    member->counts[report->function] = text_contains(text, " has not launched any ") ? 0 : value;
    return 0;
}

/* If only one group has ranks that are not listed, these are all ranks of the communicator without a line. */
static int add_unlisted_ranks(struct report *report, const struct input_line *line, struct error *error)
{
    struct ras_members *member_list = report->member_list;
    for (int64_t rank = 0; rank < member_list->communicator_size; rank++) {
        if (report->counted++ >= COUNTED_MOST)
            return note(report, "more ranks than a job can have", 1, line, error);
        struct ras_member *member = find_communicator_member(report, rank, line->offset);
        if (!member)
            return error_no_memory(error);
        if (member->missing == WARNING_OTHER && member->counts[report->function] == COUNT_UNKNOWN)
            member->counts[report->function] = report->rest_value;
    }
    return 0;
}

static void end_group(struct report *report)
{
    if (report->group.ranks > report->group.listed) {
        report->rest_groups++;
        report->rest_ranks = report->group.ranks;
        report->rest_value = report->group.value;
    }
    report->group.ranks = report->group.listed = 0;
}

static int end_counts(struct report *report, const struct input_line *line, struct error *error)
{
    if (report->section != SECTION_COUNTS)
        return 0;
    end_group(report);
    report->section = SECTION_OTHER;
    if (!report->rest_groups)
        return 0;
    const int64_t *silent =
        map_get(&report->silent, (struct map_key){{report->member_list->communicator_hash}});
    int64_t unlisted = report->member_list->communicator_size - report->listed - (silent ? *silent : 0);
    if (report->rest_groups > 1 || unlisted != report->rest_ranks)
        return note(report, "ranks without their numbers", 0, line, error);
    return add_unlisted_ranks(report, line, error);
}

/*
 * "  Communicator ranks have different AllReduce operation counts"; up to NCCL 2.25 "... collective operation
 * ...".
 */
static int begin_counts(struct report *report, struct text text, const struct input_line *line,
                        struct error *error)
{
    struct text name = text_word(text_after(text, " have different "));
    struct map_key key = {{report->member_list->communicator_hash}};
    report->function = ras_count_of(name.data, name.length);
    report->section = report->function < 0 ? SECTION_STATUS : SECTION_COUNTS;
    report->listed = report->rest_groups = report->group.ranks = report->group.listed = 0;
    if (report->function < 0)
        return note(report, "counts of another function", 0, line, error);
    int64_t *mask = map_put(&report->functions, key, 0, NULL);
    if (!mask)
        return error_no_memory(error);
    if (*mask >> report->function & 1)
        report->section = SECTION_OTHER;
    *mask |= INT64_C(1) << report->function;
    return 0;
}

/* "  30 ranks have launched up to operation 640"; the listed ones follow. */
static int begin_group(struct report *report, struct text text, const struct input_line *line,
                       struct error *error)
{
    struct text count = text_after(text, " have launched up to operation ");
    struct text ranks = {text.data + 2, text.length - 2};
    end_group(report);
    report->group.value = 0;
    if (leading_number(ranks, &report->group.ranks) ||
        (count.data && leading_number(count, &report->group.value))) {
        report->group.ranks = 0;
        return note(report, "unreadable value", 1, line, error);
    }
    return 0;
}

/* "#0-1 (78db921d1c117b4a) MISMATCH": the second communicator of group 0. */
static int begin_communicator(struct report *report, struct text text, const struct input_line *line,
                              struct error *error)
{
    struct text hash = text_after(text, " (");
    const char *dash = memchr(text.data, '-', text.length);
    const char *closing = hash.data ? memchr(hash.data, ')', hash.length) : NULL;
    struct ras_members *member_list = report->member_list;
    int64_t group;
    if (!dash || !closing ||
        number_hexadecimal(hash.data, (size_t)(closing - hash.data), &member_list->communicator_hash) ||
        number_int64(text.data + 1, (size_t)(dash - text.data - 1), &group) || group < 0) {
        member_list->communicator_hash = 0;
        report->section = SECTION_STATUS;
        return note(report, "unreadable value", 1, line, error);
    }
    int is_known = (size_t)group < report->group_count;
    member_list->communicator_size = is_known ? report->groups[group].size : 0;
    report->is_aborted = is_known && report->groups[group].is_aborted;
    report->result = RAS_RESULT_OTHER;
    report->is_initialization = 0;
    report->section = text_contains(text, ") INCOMPLETE") ? SECTION_INCOMPLETE
                      : text_contains(text, ") ERROR")    ? SECTION_ERROR
                                                          : SECTION_STATUS;
    return 0;
}

/* A row of the summary: group, communicators, nodes, ranks per node, ranks per communicator, ranks, ... */
static int take_group(struct report *report, struct text text, struct error *error)
{
    int64_t numbers[5] = {0};
    const char *at = text.data, *end = text.data + text.length;
    for (size_t i = 0; i < 5; i++) {
        while (at < end && *at == ' ')
            at++;
        struct text word = text_word((struct text){at, (size_t)(end - at)});
        if (i != 3 && (number_int64(word.data, word.length, &numbers[i]) || numbers[i] < 0))
            return 0;
        at += word.length;
    }
    size_t group = (size_t)numbers[0];
    if (numbers[0] >= GROUPS_MOST || group != report->group_count)
        return 0;
    if (array_reserve((void **)&report->groups, &report->group_capacity, group + 1, sizeof *report->groups))
        return error_no_memory(error);
    report->groups[report->group_count++] =
        (struct group){.size = numbers[4] < RAS_MEMBERS_MOST ? numbers[4] : 0,
                       .is_aborted = text_contains((struct text){at, (size_t)(end - at)}, " ABORT")};
    return 0;
}

/* "  Process 41 on node 10.0.0.1 managing GPU 0". A member without a communicator represents the process. */
static int take_gone(struct report *report, struct text text, const struct input_line *line,
                     struct error *error)
{
    struct text process = text_after(text, "  Process ");
    struct text host = text_after(text, " on node ");
    const char *past = host.data ? memmem(host.data, host.length, " managing ", 10) : NULL;
    struct ras_members *member_list = report->member_list;
    struct ras_member member = ras_member_of(0, 0, COUNT_UNKNOWN, line->offset);
    int added = 0;
    member.missing = report->section == SECTION_DEAD ? WARNING_DEAD : WARNING_SILENT;
    if (!past || leading_number(process, &member.pid))
        return 0;
    if (leading_number(text_after(text, " managing GPU "), &member.gpu))
        member.gpu = COUNT_UNKNOWN;
    if (member_list->count >= RAS_MEMBERS_MOST)
        return note(report, "more ranks than a job can have", 1, line, error);
    if (ras_members_host(member_list, host.data, (size_t)(past - host.data), &member.host) ||
        !map_put(&report->processes, (struct map_key){{(uint64_t)member.host, (uint64_t)member.pid}},
                 (int64_t)member_list->count, &added) ||
        (added && ras_members_put(member_list, &member)))
        return error_no_memory(error);
    report->listed_gone = added ? member_list->count : report->listed_gone;
    return 0;
}

/* "  2 job processes are considered dead ...", "  Missing communicator data from 1 job process" */
static int take_gone_line(struct report *report, struct text text, const struct input_line *line,
                          struct error *error)
{
    static const char missing[] = "  Missing communicator data from ";
    struct text number = text_begins(text, missing) ? text_after(text, missing)
                                                    : (struct text){text.data + 2, text.length - 2};
    int64_t gone;
    if (text_contains(text, " job process") && leading_number(number, &gone) == 0 && gone < RAS_MEMBERS_MOST)
        report->gone += gone;
    return take_gone(report, text, line, error);
}

/* "  The missing ranks: 3, 21". If only one process is gone, they belong to it. */
static int take_missing_ranks(struct report *report, struct text text, const struct input_line *line,
                              struct error *error)
{
    struct text numbers = text_after(text, ": ");
    while (numbers.data) {
        int64_t rank;
        if (report->member_list->count >= RAS_MEMBERS_MOST)
            return note(report, "more ranks than a job can have", 1, line, error);
        if (leading_number(numbers, &rank))
            return note(report, "unreadable value", 1, line, error);
        struct ras_member *member = find_communicator_member(report, rank, line->offset);
        if (!member)
            return error_no_memory(error);
        if (report->gone == 1 && report->listed_gone) {
            const struct ras_member *only = &report->member_list->items[report->listed_gone - 1];
            member->host = only->host;
            member->pid = only->pid;
            member->gpu = only->gpu;
        }
        if (take_silent(report, member, error))
            return -1;
        numbers = text_after(numbers, ", ");
    }
    return 0;
}

static int is_count_line(struct text text)
{
    return text_contains(text, " ranks have launched up to ") ||
           text_contains(text, " ranks have not launched any ");
}

/*
 * "  Asynchronous errors on 2 ranks", and "  2 ranks reported internal error" before the ranks that it lists.
 * A rank whose initialization has not finished is listed with an internal error, too.
 */
static int take_error_line(struct report *report, struct text text, const struct input_line *line,
                           struct error *error)
{
    if (text_begins(text, "  Initialization error"))
        report->is_initialization = 1;
    else if (text_begins(text, "  Asynchronous error"))
        report->is_initialization = 0;
    if (text_contains(text, " reported "))
        report->result = result_in(text);
    if (!text_begins(text, "  Rank "))
        return 0;
    return report->is_initialization && report->result == RAS_RESULT_INTERNAL
               ? note(report, "state or error of a rank", 0, line, error)
               : take_rank(report, text, line, error);
}

static int take_detail(struct report *report, struct text text, const struct input_line *line,
                       struct error *error)
{
    int is_rank = text_begins(text, "  Rank ");
    if (text_begins(text, "  Communicator ranks have different ") && text_contains(text, " operation counts"))
        return end_counts(report, line, error) || begin_counts(report, text, line, error) ? -1 : 0;
    if (report->section == SECTION_COUNTS && is_count_line(text))
        return begin_group(report, text, line, error);
    if (report->section == SECTION_ERROR)
        return take_error_line(report, text, line, error);
    if (is_rank && report->section == SECTION_STATUS)
        return note(report, "state or error of a rank", 0, line, error);
    if (is_rank && (report->section == SECTION_COUNTS || report->section == SECTION_INCOMPLETE))
        return take_rank(report, text, line, error);
    if (report->section == SECTION_INCOMPLETE && text_begins(text, "  The missing rank"))
        return take_missing_ranks(report, text, line, error);
    return report->section == SECTION_DEAD || report->section == SECTION_SILENT
               ? take_gone_line(report, text, line, error)
               : 0;
}

/*
 * Functions with the same count on all ranks are not reported; their counts become 0. Of a communicator
 * without any reported function nothing is known.
 */
static void close_counts(struct report *report)
{
    struct ras_members *member_list = report->member_list;
    for (size_t i = 0; i < member_list->count; i++) {
        const int64_t *mask =
            map_get(&report->functions, (struct map_key){{member_list->items[i].communicator_hash}});
        for (int function = 0; mask && function < RAS_COUNTS; function++)
            if (!(*mask >> function & 1))
                member_list->items[i].counts[function] = 0;
    }
    ras_members_sort(member_list);
}

static void forget(struct report *report)
{
    map_release(&report->places);
    map_release(&report->processes);
    map_release(&report->functions);
    map_release(&report->silent);
    map_init(&report->places);
    map_init(&report->processes);
    map_init(&report->functions);
    map_init(&report->silent);
    report->group_count = report->listed_gone = 0;
    report->gone = 0;
    report->section = SECTION_OTHER;
    report->in_summary = report->has_warnings = 0;
}

static int end_report(struct report *report, const struct input_line *line, struct error *error)
{
    if (end_counts(report, line, error))
        return -1;
    close_counts(report);
    return report->is_begun && !report->has_warnings
               ? note(report, "file ends within its text", 1, line, error)
               : 0;
}

static int begin_report(struct report *report, const struct input_line *line, struct error *error)
{
    if (report->is_begun &&
        (end_report(report, line, error) || ras_members_next(report->member_list, report->sink, error)))
        return -1;
    forget(report);
    report->is_begun = 1;
    return 0;
}

static int take_line(struct report *report, const struct input_line *line, struct error *error)
{
    struct text text = {line->text, line->length};
    if (text_begins(text, "NCCL version "))
        return begin_report(report, line, error);
    if (text_begins(text, "  ") && !report->in_summary)
        return take_detail(report, text, line, error);
    if (text.length == 0 && report->section == SECTION_COUNTS)
        return end_counts(report, line, error);
    if (text_begins(text, "Group ") || text_begins(text, "Errors") || text_begins(text, "Warnings"))
        report->in_summary = text_begins(text, "Group ");
    report->has_warnings |= text_begins(text, "Warnings");
    if (report->in_summary)
        return take_group(report, text, error);
    if (text_begins(text, "#"))
        return end_counts(report, line, error) || begin_communicator(report, text, line, error) ? -1 : 0;
    if (text.length > 0)
        report->section = text_is(text, "DEAD")         ? SECTION_DEAD
                          : text_is(text, "INCOMPLETE") ? SECTION_SILENT
                                                        : SECTION_OTHER;
    return 0;
}

int ras_report_begins(const char *bytes, size_t length)
{
    struct text text = {bytes, length};
    return text_begins(text, "NCCL version ") && text_contains(text, " compiled with CUDA ") &&
           text_contains(text, "CUDA runtime version ") && text_contains(text, "Job summary");
}

int ras_report_read(struct ras_members *member_list, struct input *input, const struct format_sink *sink,
                    struct error *error)
{
    struct report report = {.sink = sink, .member_list = member_list};
    struct input_line line, last = {.text = ""};
    /* If the file could not be read to its end, that is the error. */
    struct error second = ERROR_INIT;
    int status = 0, got = 0;
    forget(&report);
    while (!status && (got = input_line(input, &line, error)) > 0) {
        status = take_line(&report, &line, error);
        last.offset = line.offset + line.length;
    }
    if (!status)
        status = end_report(&report, &last, got < 0 ? &second : error);
    forget(&report);
    free(report.groups);
    return status || got < 0 ? -1 : 0;
}
