/*
 * The plugin's declarations of NCCL's interface, compared with figures that a compiler computed from NVIDIA's
 * and AMD's own headers (tests/gen/nccl_figures.def, rccl_figures.def), not with the plugin's own header.
 */
#include "support/cmocka_all.h"

#include "plugin/entry/entry.h"
#include "plugin/ring/api.h"

/* One declaration serves several versions. */
#define api_descriptor_v5 api_descriptor_v6
#define api_descriptor_v7_tags api_descriptor_v6
#define api_state_args_v2 api_state_args_v1
#define api_state_args_v3 api_state_args_v1
#define api_state_args_v5 api_state_args_v4
#define api_state_args_v6 api_state_args_v4
#define api_state_args_v7 api_state_args_v4
#define api_state_args_v7_tags api_state_args_v4

/* Events that version 7 shares with version 6 are read with the declaration of version 6. */
#define DECLARED_v1 api_descriptor_v1
#define DECLARED_v2 api_descriptor_v2
#define DECLARED_v3 api_descriptor_v3
#define DECLARED_v4 api_descriptor_v4
#define DECLARED_v5 api_descriptor_v6
#define DECLARED_v6 api_descriptor_v6
#define DECLARED_v7_tags api_descriptor_v6
#define DECLARED_v7 api_descriptor_v6

struct figure {
    const char *name;
    size_t ours, theirs;
};

#define EVENT(name, bit)
#define STATE(name, number)
#define KNOWN(version, events, state)
#define DESCRIPTOR(version, bytes) {"size of " #version, sizeof(struct api_descriptor_##version), bytes},
#define ARGUMENTS(version, bytes) {"values of " #version, sizeof(union api_state_args_##version), bytes},
#define MEMBER_OF(type, version, member, offset, bytes)                         \
    {"offset of " #version " " #member, offsetof(struct type, member), offset}, \
        {"size of " #version " " #member, sizeof(((struct type *)0)->member), bytes},
#define MEMBER(version, member, offset, bytes) MEMBER_OF(DECLARED_##version, version, member, offset, bytes)
#define ADDED(version, member, offset, bytes) \
    MEMBER_OF(api_descriptor_##version, version, member, offset, bytes)

static const struct figure layout[] = {
#include "../../gen/nccl_figures.def"
};

#undef EVENT
#undef STATE
#undef DESCRIPTOR
#undef ARGUMENTS
#undef MEMBER
#undef ADDED
#define DESCRIPTOR(version, bytes)
#define ARGUMENTS(version, bytes)
#define MEMBER(version, member, offset, bytes)
#define ADDED(version, member, offset, bytes)
#define EVENT(name, bit) {"event " #name, API_##name, (size_t)1 << (bit)},
#define STATE(name, number) {"state " #name, API_##name, number},

static const struct figure numbers[] = {
#include "../../gen/nccl_figures.def"
};

#undef EVENT
#undef STATE
#undef KNOWN
#define EVENT(name, bit)
#define STATE(name, number)
#define KNOWN(version, events, state) {"events of " #version, EVENTS_##version, events},
#define EVENTS_v1 ENTRY_KNOWN_V1
#define EVENTS_v2 ENTRY_KNOWN_V1
#define EVENTS_v3 ENTRY_KNOWN_V3
#define EVENTS_v4 ENTRY_KNOWN_V3
#define EVENTS_v5 ENTRY_KNOWN_V5
#define EVENTS_v6 ENTRY_KNOWN_V6
#define EVENTS_v7_tags ENTRY_KNOWN_V7
#define EVENTS_v7 ENTRY_KNOWN_V7

static const struct figure events[] = {
#include "../../gen/nccl_figures.def"
};

#undef KNOWN
#define KNOWN(version, events, state) {"states of " #version, STATES_##version, state},
#define STATES_v1 ENTRY_STATES_V1
#define STATES_v2 ENTRY_STATES_V1
#define STATES_v3 ENTRY_STATES_V1
#define STATES_v4 ENTRY_STATES_V4
#define STATES_v5 ENTRY_STATES_V5
#define STATES_v6 ENTRY_STATES_V6
#define STATES_v7_tags ENTRY_STATES_V6
/* Its last one occurs only with a kernel phase. */
#define STATES_v7 (ENTRY_STATES_V6 + 1)

static const struct figure states[] = {
#include "../../gen/nccl_figures.def"
};

#undef DESCRIPTOR
#undef MEMBER
#define DECLARED_rccl_v6 api_descriptor_v6
#define DESCRIPTOR(version, bytes) {"size of " #version, sizeof(struct DECLARED_##version), bytes},
#define MEMBER(version, member, offset, bytes) MEMBER_OF(DECLARED_##version, version, member, offset, bytes)
#define VALUE(version, member, offset, bytes)                                                     \
    {"offset of value " #version " " #member, offsetof(union api_state_args_v4, member), offset}, \
        {"size of value " #version " " #member, sizeof(((union api_state_args_v4 *)0)->member), bytes},
#define OTHER_EVENT(bit) {"event " #bit " of version 6", ENTRY_KNOWN_V6 >> (bit)&1, 0},
#define OTHER_STATE(number) {"state " #number " of version 6", ENTRY_STATES_V6 >= (number), 0},

static const struct figure rccl[] = {
#include "../../gen/rccl_figures.def"
};

static void check(const struct figure *figures, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (figures[i].ours != figures[i].theirs)
            fail_msg("%s: %zu, in the other side's headers %zu", figures[i].name, figures[i].ours,
                     figures[i].theirs);
}

#define CHECK(figures) check(figures, sizeof(figures) / sizeof((figures)[0]))

static void layouts(void **state)
{
    (void)state;
    CHECK(layout);
}

static void numbers_of_events_and_states(void **state)
{
    (void)state;
    CHECK(numbers);
    assert_int_equal(API_KERNEL_PHASE_STOP, ENTRY_STATES_V6 + 1);
}

static void what_each_version_knows(void **state)
{
    (void)state;
    CHECK(events);
    CHECK(states);
}

/* RCCL's version 6 is read with the declarations of NCCL's. */
static void layout_of_rccl(void **state)
{
    (void)state;
    CHECK(rccl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts), cmocka_unit_test(layout_of_rccl),
                                       cmocka_unit_test(numbers_of_events_and_states),
                                       cmocka_unit_test(what_each_version_knows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
