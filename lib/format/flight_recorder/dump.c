/*
 * Reads the tree of a Flight Recorder dump (struct dump): its version, groups and entries, and which calls
 * were launched together.
 */
#include "base/base.h"
#include "format/flight_recorder/flight_recorder.h"
#include "format/format.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>

static int is_of_launch(const struct dump_entry *entry, const struct dump_entry *closing)
{
    return entry->group == closing->group && !entry->is_closing && !entry->is_member &&
           entry->pair_sequence == closing->pair_sequence &&
           entry->collective_sequence == closing->collective_sequence;
}

static void give_state(struct dump_entry *entry, const struct dump_entry *closing)
{
    entry->is_member = 1;
    entry->state = closing->state;
    entry->started_ns = closing->started_ns;
    entry->completed_ns = closing->completed_ns;
    entry->duration_ns = closing->duration_ns;
}

/* Merges a collective into the first one of its launch. */
static void unite(struct dump_entry *first, struct dump_entry *entry)
{
    entry->is_left_out = 1;
    if (first->function != entry->function)
        first->function = FUNCTION_OTHER;
    if (first->bytes < 0 || entry->bytes < 0 ||
        __builtin_add_overflow(first->bytes, entry->bytes, &first->bytes))
        first->bytes = COUNT_UNKNOWN;
    if (first->count < 0 || entry->count < 0 ||
        __builtin_add_overflow(first->count, entry->count, &first->count))
        first->count = COUNT_UNKNOWN;
    if (first->datatype != entry->datatype)
        first->datatype = DATATYPE_UNKNOWN;
}

/*
 * Whether a closing entry without members is a collective: sends and receives do not increase the collective
 * number.
 */
static int counts_up(const struct dump *dump, size_t at)
{
    const struct dump_entry *closing = &dump->entries[at];
    for (size_t i = at; i-- > 0;)
        if (dump->entries[i].group == closing->group)
            return dump->entries[i].collective_sequence < closing->collective_sequence;
    return closing->record == 0 || closing->record == COUNT_UNKNOWN;
}

static void settle(struct dump *dump, size_t at)
{
    struct dump_entry *closing = &dump->entries[at], *first = NULL;
    size_t members = 0;
    for (size_t i = at; i-- > 0;) {
        struct dump_entry *entry = &dump->entries[i];
        /* Other threads may have called on other groups in between. */
        if (entry->group != closing->group)
            continue;
        if (!is_of_launch(entry, closing))
            break;
        members++;
        give_state(entry, closing);
        if (entry->is_pair)
            continue;
        if (first)
            unite(entry, first);
        first = entry;
    }
    dump->groups[closing->group].has_launches = 1;
    closing->is_left_out = members > 0 || !counts_up(dump, at);
}

/* Whether two sends or receives were launched together. */
static int are_together(const struct dump_entry *one, const struct dump_entry *other)
{
    return one->group == other->group && other->is_pair && one->pair_sequence >= 0 &&
           one->pair_sequence == other->pair_sequence;
}

/* Whether the record after an entry is missing: later records follow, or the group has a later number. */
static int is_gap(const struct dump *dump, size_t at)
{
    const struct dump_entry *entry = &dump->entries[at];
    const struct dump_group *group = &dump->groups[entry->group];
    if (at + 1 < dump->entry_count)
        return entry->record >= 0 && entry[1].record > entry->record + 1;
    return !group->has_collectives && entry->pair_sequence >= 0 &&
           entry->pair_sequence <= group->last_completed;
}

/*
 * Completed closing entries are not listed in a dump of active entries. If a listed send or receive is open
 * although its group completed its number last, it was launched with others, and its closing entry was left
 * out.
 */
static void find_launches(struct dump *dump)
{
    for (size_t i = 0; i < dump->entry_count; i++) {
        const struct dump_entry *entry = &dump->entries[i];
        struct dump_group *group = &dump->groups[entry->group];
        if (entry->is_pair && !entry->is_member && entry->state != DUMP_COMPLETED &&
            !group->has_collectives && entry->pair_sequence >= 0 &&
            entry->pair_sequence == group->last_completed)
            group->has_launches = 1;
    }
}

/*
 * A dump of active entries has no closing entries of completed launches, but still has their members. An
 * entry that was launched with others, or whose group launches that way, and that is followed by a missing
 * record has therefore completed: the missing record was its closing entry.
 */
static void settle_without_closing(struct dump *dump)
{
    for (size_t i = 0, last; i < dump->entry_count; i = last + 1) {
        const struct dump_entry *entry = &dump->entries[i];
        last = i;
        if (!entry->is_pair || entry->is_member)
            continue;
        while (last + 1 < dump->entry_count && are_together(entry, &dump->entries[last + 1]))
            last++;
        if ((last == i && !dump->groups[entry->group].has_launches) || !is_gap(dump, last))
            continue;
        for (size_t k = i; k <= last; k++) {
            dump->entries[k].is_member = 1;
            dump->entries[k].state = DUMP_COMPLETED;
        }
    }
}

/*
 * Calls that were launched together (batch_isend_irecv, coalesced collectives). A closing entry "coalesced"
 * follows them and has their state and times; their own state stays "scheduled". Each member gets the values
 * of its launch. The collectives of a launch are merged into one with all their bytes, as they have one
 * number and one kernel. A closing entry with members in the dump is left out. One without is a collective
 * with no further information (before torch 2.7 only sends and receives inside were recorded), or its members
 * were overwritten in the ring.
 */
static void dump_settle_launches(struct dump *dump)
{
    for (size_t i = 0; i < dump->entry_count; i++)
        if (dump->entries[i].is_closing)
            settle(dump, i);
    find_launches(dump);
    settle_without_closing(dump);
}

/*
 * Leaves out the open sends and receives at the end of a truncated file, as the closing entry of their launch
 * may have followed.
 */
static void dump_drop_last(struct dump *dump)
{
    size_t at = dump->entry_count;
    while (at > 0) {
        struct dump_entry *entry = &dump->entries[--at];
        if (!entry->is_pair || entry->is_member || entry->state == DUMP_COMPLETED ||
            (at + 1 < dump->entry_count && !are_together(entry, &dump->entries[at + 1])))
            return;
        entry->is_left_out = 1;
    }
}

/* The calls of a group so far. */
struct group_calls {
    int64_t collectives;
    int64_t pairs;
    size_t next; /* 1 + index of its last entry; 0: none */
};

/* Whether every number is as far from its record as the first, and no send has a number of its own. */
static int numbers_follow_records(const struct dump *dump)
{
    const struct dump_entry *first = dump->entries;
    for (size_t i = 0; i < dump->entry_count; i++) {
        const struct dump_entry *entry = &dump->entries[i];
        if (entry->record < 0 || entry->collective_sequence < 0 || entry->pair_sequence != 0 ||
            entry->is_closing || (i > 0 && entry->record <= entry[-1].record) ||
            entry->collective_sequence - entry->record != first->collective_sequence - first->record)
            return 0;
    }
    return dump->entry_count > 0;
}

/*
 * Whether a group has calls before and after those of another group. With a counter of each group, such
 * numbers cannot increase as much as the records.
 */
static int has_return(const struct dump *dump, struct group_calls *calls)
{
    int found = 0;
    for (size_t i = 0; i < dump->entry_count; i++) {
        size_t *next = &calls[dump->entries[i].group].next;
        found |= *next > 0 && *next < i;
        *next = i + 1;
    }
    return found;
}

/* Whether the dump begins with the first call of the process and has all calls since. */
static int has_all_calls(const struct dump *dump)
{
    const struct dump_entry *first = dump->entries, *last = &first[dump->entry_count - 1];
    return first->record == 0 && first->collective_sequence == 0 &&
           last->record - first->record == (int64_t)dump->entry_count - 1;
}

static void number_by_group(struct dump *dump, struct group_calls *calls)
{
    for (size_t i = 0; i < dump->entry_count; i++) {
        struct dump_entry *entry = &dump->entries[i];
        struct group_calls *of = &calls[entry->group];
        entry->collective_sequence = of->collectives;
        entry->pair_sequence = of->pairs;
        of->collectives += !entry->is_pair && !entry->is_left_out;
        of->pairs += entry->is_pair;
    }
}

/*
 * torchcomms has one counter for the calls of a process on all its groups, and its dumps have no progress of
 * groups. Changes the numbers to those of each group. If the first calls are missing, the numbers stay: they
 * match between ranks that made equally many calls before.
 */
static int dump_number_by_group(struct dump *dump, const struct value *status)
{
    int lacks_status = status && status->kind == VALUE_DICTIONARY && !status->items->count;
    struct group_calls *calls = array_new(dump->group_count + 1, sizeof *calls);
    if (!calls)
        return -1;
    int is_shared =
        numbers_follow_records(dump) && (has_return(dump, calls) || (lacks_status && dump->group_count > 1));
    if (is_shared && has_all_calls(dump))
        number_by_group(dump, calls);
    /* A progress would have numbers of the same counter. */
    for (size_t i = 0; is_shared && i < dump->group_count; i++)
        dump->groups[i].has_status = 0;
    free(calls);
    return 0;
}

/* An entry is at least a dictionary with a name and a state, which are texts or references to texts. */
enum { ENTRY_BYTES_LEAST = 11 };

/* The latest version whose keys are known. */
enum { VERSION_MAJOR = 2, VERSION_MINOR = 11 };

void dump_init(struct dump *dump)
{
    *dump = (struct dump){.version = NULL};
    intern_init(&dump->sources);
    map_init(&dump->group_of);
    dump_shared_init(&dump->shared);
}

void dump_release(struct dump *dump)
{
    free(dump->groups);
    free(dump->entries);
    intern_release(&dump->sources);
    map_release(&dump->group_of);
    dump_shared_release(&dump->shared);
}

struct rank_list dump_members(const struct dump *dump, const struct dump_group *group)
{
    static const struct rank_list none = {.ranks = NULL};
    return group->list < 0 ? none : dump->shared.lists[group->list];
}

static int note(const struct format_sink *sink, const char *reason, int damage, uint64_t offset,
                const struct value *detail, struct error *error)
{
    const char *text = detail && detail->kind == VALUE_TEXT ? detail->text : NULL;
    return sink->note(sink->context, reason, damage, offset, text, text ? detail->length : 0, error);
}

/* "2.10" is after "2.9". */
static int is_newer(const struct value *version)
{
    int part = 0, numbers[2] = {0, 0};
    for (uint32_t i = 0; i < version->length && part < 2; i++) {
        char byte = version->text[i];
        if (byte == '.')
            part++;
        else if (!is_digit(byte) || numbers[part] > 1000)
            return 0;
        else
            numbers[part] = numbers[part] * 10 + (byte - '0');
    }
    return numbers[0] > VERSION_MAJOR || (numbers[0] == VERSION_MAJOR && numbers[1] > VERSION_MINOR);
}

static int take_version(struct dump *dump, const struct value *version, const struct format_sink *sink,
                        struct error *error)
{
    if (!version)
        return 0;
    if (version->kind != VALUE_TEXT)
        return note(sink, "value of an unexpected type", 1, 0, NULL, error);
    dump->version = version;
    return is_newer(version) ? note(sink, FORMAT_NOTE_NEWER, 0, 0, version, error) : 0;
}

static int take_entries(struct dump *dump, const struct value_items *list, size_t bytes,
                        const struct format_sink *sink, struct error *error)
{
    struct entry_reader reader;
    if (list->count > bytes / ENTRY_BYTES_LEAST)
        return note(sink, "more entries than are written", 1, list->offset, NULL, error);
    entry_reader_init(&reader, dump, bytes);
    for (size_t i = 0; i < list->count; i++) {
        const struct value *value = &list->items[i];
        int status = entry_take(&reader, value);
        if (status < 0)
            return error_no_memory(error);
        /* The truncation of the file is already noted as damage. */
        int is_cut = value->kind == VALUE_DICTIONARY && value->items->is_cut;
        uint64_t offset = value->kind == VALUE_DICTIONARY ? value->items->offset : list->offset;
        if (status > 0 && !is_cut && note(sink, "unreadable entry", 1, offset, NULL, error))
            return -1;
    }
    for (size_t i = 0; i < reader.unread_frames; i++)
        if (note(sink, "frames over the expansion limit", 1, list->offset, NULL, error))
            return -1;
    return 0;
}

/* Notes missing records: a full ring overwrites its oldest, and a dump may have only active entries. */
static int note_gaps(const struct dump *dump, const struct format_sink *sink, struct error *error)
{
    int64_t first = dump->entry_count ? dump->entries[0].record : COUNT_UNKNOWN;
    int64_t last = dump->entry_count ? dump->entries[dump->entry_count - 1].record : COUNT_UNKNOWN;
    if (first > 0 && sink->note(sink->context, "entries before the ring's first", 0, dump->entries[0].offset,
                                NULL, 0, error))
        return -1;
    return first >= 0 && last - first >= (int64_t)dump->entry_count
               ? sink->note(sink->context, "completed entries left out by the dump", 0,
                            dump->entries[0].offset, NULL, 0, error)
               : 0;
}

/* {"ok": false, "reason": "timed out after ..."} */
static void take_failure(struct dump *dump, const struct value *root)
{
    const struct value *ok = value_member(root, "ok"), *reason = value_member(root, "reason");
    if (ok && ok->kind == VALUE_BOOLEAN && !ok->integer && reason && reason->kind == VALUE_TEXT)
        dump->no_dump = reason;
}

/*
 * Calls that were retired when they were issued may be over or not; they count as completed, so no rank waits
 * in them.
 */
static void take_as_done(struct dump *dump)
{
    for (size_t i = 0; i < dump->entry_count; i++)
        if (dump_group_lacks_completions(&dump->groups[dump->entries[i].group]))
            dump->entries[i].state = DUMP_COMPLETED;
}

int dump_take(struct dump *dump, const struct value *root, size_t bytes, const struct format_sink *sink,
              struct error *error)
{
    const struct value *entries = root->kind == VALUE_LIST ? root : value_member(root, "entries");
    size_t unread = 0;
    if (root->kind == VALUE_NULL)
        return 0;
    if (root->kind != VALUE_LIST && root->kind != VALUE_DICTIONARY)
        return note(sink, "value of an unexpected type", 1, 0, NULL, error);
    if (take_version(dump, value_member(root, "version"), sink, error))
        return -1;
    const struct value_items *items = value_list(entries);
    if (items && take_entries(dump, items, bytes, sink, error))
        return -1;
    unread += entries && !items && entries->kind != VALUE_NULL;
    if (dump_take_config(dump, value_member(root, "pg_config"), &unread) ||
        dump_take_status(dump, value_member(root, "pg_status"), &unread))
        return error_no_memory(error);
    if (dump_number_by_group(dump, value_member(root, "pg_status")))
        return error_no_memory(error);
    for (; unread > 0; unread--)
        if (note(sink, "value of an unexpected type", 1, 0, NULL, error))
            return -1;
    if (!items)
        take_failure(dump, root);
    dump_settle_launches(dump);
    take_as_done(dump);
    if (items && items->is_cut)
        dump_drop_last(dump);
    return note_gaps(dump, sink, error);
}
