#include "base/base.h"
#include "join/internal.h"

#include "support/cmocka_all.h"
#include "support/random.h"

#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 6, MARKS = 200, CASES = 300 };

/* As work_load_marks() leaves them: by member, those of one in order. */
static int by_member(const void *a, const void *b)
{
    const struct work_mark *left = a, *right = b;
    if (left->member != right->member)
        return left->member < right->member ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

/* Marks of one process in order of time, several of them at the same time. */
static void make_marks(struct work_mark *marks, size_t count, int32_t members)
{
    int64_t at_ns = 0;
    for (size_t i = 0; i < count; i++) {
        at_ns += (int64_t)(random_number() % 3);
        int is_end = random_number() % 3 == 0;
        marks[i] = (struct work_mark){.at_ns = at_ns,
                                      .order = i,
                                      .member = (int32_t)(random_number() % (uint64_t)(members + 1)) - 1,
                                      .depth = (int32_t)(random_number() % 4),
                                      .text = is_end ? -1 : (int32_t)i,
                                      .is_end = is_end};
    }
}

/*
 * By definition: the marks of this member and those of all members, one after the other, from the first on.
 */
static int32_t defined_tag(const struct work_mark *marks, size_t count, int32_t member, int64_t at_ns)
{
    int32_t set[4], top = -1;
    for (size_t i = 0; i < count && marks[i].at_ns <= at_ns; i++) {
        if (marks[i].member >= 0 && marks[i].member != member)
            continue;
        if (marks[i].is_end) {
            top = marks[i].depth > top ? top : marks[i].depth - 1;
            continue;
        }
        for (int32_t depth = top + 1; depth < marks[i].depth; depth++)
            set[depth] = -1;
        top = marks[i].depth;
        set[top] = marks[i].text;
    }
    return top < 0 ? -1 : set[top];
}

static void tags_are_those_of_the_member_and_the_process(void **state)
{
    for (int i = 0; i < CASES; i++) {
        struct work_mark marks[MARKS], sorted[MARKS];
        size_t count = random_number() % (MARKS + 1);
        make_marks(marks, count, MEMBERS);
        memcpy(sorted, marks, sizeof sorted);
        qsort(sorted, count, sizeof *sorted, by_member);
        const struct work work = {.marks = sorted, .mark_count = count};
        for (int32_t member = 0; member < MEMBERS; member++) {
            struct tag_state tags = tag_state_at_start(&work, member);
            for (int64_t at_ns = 0; at_ns < 2 * MARKS; at_ns += (int64_t)(random_number() % 5))
                assert_int_equal(tag_at(&tags, at_ns), defined_tag(marks, count, member, at_ns));
        }
    }
}

static void marks_of_each_member(void **state)
{
    struct work_mark marks[] = {{.member = -1}, {.member = -1}, {.member = 2}, {.member = 4}, {.member = 4}};
    const struct work work = {.marks = marks, .mark_count = sizeof marks / sizeof *marks};
    const struct work nothing = {.marks = NULL};
    static const size_t wanted[] = {2, 0, 0, 1, 0, 2, 0};
    const struct work_mark *found;
    for (int32_t member = -1; member <= 5; member++) {
        assert_int_equal(work_marks_of(&work, member, &found), wanted[member + 1]);
        assert_int_equal(wanted[member + 1] ? found->member : member, member);
        assert_int_equal(work_marks_of(&nothing, member, &found), 0);
    }
}

/*
 * Numbers with a name are shown by it; text that looks like a number is not, nor is a number that means
 * nothing.
 */
static void names_of_numbers(void **state)
{
    enum { FORTY_TWO, SEVEN, FORWARD };
    struct work work = {.marks = NULL};
    map_init(&work.tag_names);
    assert_non_null(map_put(&work.tag_names, (struct map_key){{FORTY_TWO}}, FORWARD, NULL));
    static const struct {
        int32_t tag, is_number, carried;
    } cases[] = {
        {FORTY_TWO, 1, FORWARD}, {FORTY_TWO, 0, FORTY_TWO}, {SEVEN, 1, SEVEN}, {-1, 0, -1}, {-1, 1, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct issued_operation issued_operation = {.tag = cases[i].tag,
                                                          .tag_is_number = cases[i].is_number};
        assert_int_equal(tag_carried(&work, &issued_operation), cases[i].carried);
    }
    map_release(&work.tag_names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_those_of_the_member_and_the_process),
        cmocka_unit_test(marks_of_each_member),
        cmocka_unit_test(names_of_numbers),
    };
    return cmocka_run_group_tests_name("tags", tests, NULL, NULL);
}
