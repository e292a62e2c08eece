#include "format/flight_recorder/launches.h"

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

/* Adds a collective to the first of its launch. */
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

/* Whether a closing entry without members is a collective: sends and receives do not count those up. */
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
        /* Other groups may have called in between, from other threads. */
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

/* Whether two sends or receives were launched at once. */
static int are_together(const struct dump_entry *one, const struct dump_entry *other)
{
    return one->group == other->group && other->is_pair && one->pair_sequence >= 0 &&
           one->pair_sequence == other->pair_sequence;
}

/* Whether the record behind an entry is missing: others follow, or its group has that number behind it. */
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
 * What has completed is not listed by itself. So a send or receive that is listed as open, and is what its
 * group completed last, was launched as one of several: its closing entry was left out, not itself.
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
 * A dump of active entries alone lacks the closing entries of what has completed, but not their members. So
 * what was launched with others, or is of a group that does so, and is followed by a missing record, has
 * completed: that record was its closing entry.
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

void dump_settle_launches(struct dump *dump)
{
    for (size_t i = 0; i < dump->entry_count; i++)
        if (dump->entries[i].is_closing)
            settle(dump, i);
    find_launches(dump);
    settle_without_closing(dump);
}

void dump_leave_out_last(struct dump *dump)
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
