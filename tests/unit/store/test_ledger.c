#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <string.h>

static void note(struct ledger *ledger, const char *reason, int damage, uint64_t offset, const char *detail)
{
    assert_int_equal(ledger_note(ledger, reason, damage, offset, detail, detail ? strlen(detail) : 0, NULL),
                     0);
}

static const struct ledger_entry *entry_of(const struct ledger *ledger, const char *reason)
{
    for (size_t i = 0; i < ledger->count; i++)
        if (strcmp(ledger->entries[i].reason, reason) == 0)
            return &ledger->entries[i];
    return NULL;
}

static void counts_by_reason(void **state)
{
    struct ledger ledger;
    ledger_init(&ledger);
    note(&ledger, "not modelled", 0, 10, "first");
    note(&ledger, "cut short", 1, 20, NULL);
    note(&ledger, "not modelled", 0, 30, "second");
    assert_int_equal(ledger.count, 2);
    assert_int_equal(ledger_total(&ledger), 3);
    assert_int_equal(ledger_damage(&ledger), 1);
    const struct ledger_entry *entry = entry_of(&ledger, "not modelled");
    assert_int_equal(entry->count, 2);
    assert_int_equal(entry->first_offset, 10);
    assert_string_equal(entry->example, "first");
    assert_string_equal(entry_of(&ledger, "cut short")->example, "");
    ledger_release(&ledger);
    assert_int_equal(ledger_total(&ledger), 0);
}

/* If one occurrence is damage, all of the reason is. */
static void damage_stays(void **state)
{
    struct ledger ledger;
    ledger_init(&ledger);
    note(&ledger, "odd", 0, 1, NULL);
    assert_null(ledger_first_damage(&ledger));
    note(&ledger, "odd", 1, 2, NULL);
    note(&ledger, "odd", 0, 3, NULL);
    assert_int_equal(ledger_damage(&ledger), 3);
    ledger_release(&ledger);
}

/* Damage besides it does not count: nothing of that could be read. */
static void only_one_reason(void **state)
{
    struct ledger ledger;
    ledger_init(&ledger);
    assert_null(ledger_only(&ledger, "strange"));
    note(&ledger, "cut short", 1, 5, NULL);
    assert_null(ledger_only(&ledger, "strange"));
    note(&ledger, "strange", 0, 7, "what");
    note(&ledger, "strange", 0, 9, NULL);
    assert_ptr_equal(ledger_only(&ledger, "strange"), entry_of(&ledger, "strange"));
    assert_int_equal(ledger_only(&ledger, "strange")->count, 2);
    note(&ledger, "not modelled", 0, 11, NULL);
    assert_null(ledger_only(&ledger, "strange"));
    ledger_release(&ledger);
}

/* By its place in the file, not by the time at which it was noted. */
static void first_damage(void **state)
{
    struct ledger ledger;
    ledger_init(&ledger);
    note(&ledger, "late", 1, 300, NULL);
    note(&ledger, "harmless", 0, 1, NULL);
    note(&ledger, "early", 1, 200, NULL);
    assert_string_equal(ledger_first_damage(&ledger)->reason, "early");
    ledger_release(&ledger);
}

static void examples_are_cut(void **state)
{
    struct ledger ledger;
    char detail[LEDGER_EXAMPLE_BYTES + 50];
    memset(detail, 'x', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    ledger_init(&ledger);
    note(&ledger, "long", 0, 0, detail);
    assert_int_equal(strlen(ledger.entries[0].example), LEDGER_EXAMPLE_BYTES);
    assert_int_equal(ledger_note(&ledger, "short", 0, 0, detail, 40, NULL), 0);
    assert_int_equal(strlen(ledger.entries[1].example), 40);
    ledger_release(&ledger);
}

static void note_many(struct ledger *ledger, int first, int end)
{
    for (int i = first; i < end; i++) {
        char reason[32];
        snprintf(reason, sizeof reason, "reason %d", i);
        note(ledger, reason, i % 2, (uint64_t)i, NULL);
    }
}

/* There is space for one less than LEDGER_REASONS: the last place is for all others. */
static void reasons_past_the_last_go_together(void **state)
{
    struct ledger ledger;
    ledger_init(&ledger);
    note_many(&ledger, 0, 100);
    note(&ledger, "reason 0", 0, 500, NULL);
    assert_int_equal(ledger.count, LEDGER_REASONS);
    assert_int_equal(entry_of(&ledger, "reason 0")->count, 2);
    assert_int_equal(entry_of(&ledger, "other reasons")->count, 100 - (LEDGER_REASONS - 1));
    assert_int_equal(ledger_total(&ledger), 101);
    ledger_release(&ledger);
}

/* The parts of a file together give the same as the complete file read at once. */
static void parts_are_the_whole(void **state)
{
    static struct ledger whole, first, second;
    ledger_init(&whole);
    ledger_init(&first);
    ledger_init(&second);
    note_many(&whole, 0, 90);
    note_many(&whole, 20, 110);
    note_many(&first, 0, 90);
    note_many(&second, 20, 110);
    assert_int_equal(ledger_add(&first, &second, NULL), 0);
    assert_int_equal(first.count, whole.count);
    for (size_t i = 0; i < whole.count; i++) {
        const struct ledger_entry *entry = entry_of(&first, whole.entries[i].reason);
        assert_non_null(entry);
        assert_int_equal(entry->count, whole.entries[i].count);
        assert_int_equal(entry->damage, whole.entries[i].damage);
        assert_int_equal(entry->first_offset, whole.entries[i].first_offset);
    }
    ledger_release(&whole);
    ledger_release(&first);
    ledger_release(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_by_reason),    cmocka_unit_test(damage_stays),
        cmocka_unit_test(only_one_reason),     cmocka_unit_test(first_damage),
        cmocka_unit_test(examples_are_cut),    cmocka_unit_test(reasons_past_the_last_go_together),
        cmocka_unit_test(parts_are_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
