#include "format/internal.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/events.h"

#include <string.h>

static void read_text(struct recording *recording, const char *name, const char *text)
{
    recording_of_bytes(recording, name, text, strlen(text));
    assert_int_equal(recording->status, 0);
    assert_string_equal(recording->dialect, "memory-snapshot");
}

static const struct registration *registration(const struct recording *recording, size_t n)
{
    const struct event *found = recording_event(recording, EVENT_REGISTRATION, n);
    assert_non_null(found);
    return &found->registration;
}

#define SEGMENT(address, more) "{\"device\": 1, \"address\": " address ", \"total_size\": 2097152" more "}"
#define ENTRY(action, address, time) \
    "{\"action\": \"" action "\", \"addr\": " address ", \"size\": 2097152, \"time_us\": " time "}"

/* Segments that were allocated and freed, those from before its history, and those that still exist. */
static void segments_come_and_go(void **state)
{
    struct recording recording;
    read_text(&recording, "memory_rank3.json",
              "{\"segments\": [" SEGMENT("4194304", "") ", " SEGMENT("8388608", "") "],\n"
              " \"device_traces\": [[], [" ENTRY("segment_alloc", "4194304", "1000") ", "
              ENTRY("alloc", "4194304", "1500") ", " ENTRY("segment_free", "16777216", "2000") ", "
              ENTRY("segment_alloc", "16777216", "3000") ", " ENTRY("segment_free", "16777216", "4000") "]]}");
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_notes(&recording, "allocation within a segment"), 1);
    assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 5);
    assert_int_equal(registration(&recording, 0)->kind, REGISTRATION_SNAPSHOT);
    assert_int_equal(registration(&recording, 0)->global_rank, 3);
    assert_int_equal(registration(&recording, 0)->alive.end_ns, 4000000);
    /* Listed, but not in the history. */
    assert_true(registration(&recording, 1)->address == 8388608);
    assert_int_equal(registration(&recording, 1)->alive.begin_ns, TIME_UNKNOWN);
    assert_int_equal(registration(&recording, 1)->alive.end_ns, TIME_UNKNOWN);
    assert_int_equal(registration(&recording, 1)->device, 1);
    /* Allocated, and still there. */
    assert_true(registration(&recording, 2)->address == 4194304);
    assert_int_equal(registration(&recording, 2)->kind, REGISTRATION_SEGMENT);
    assert_int_equal(registration(&recording, 2)->bytes, 2097152);
    assert_int_equal(registration(&recording, 2)->alive.begin_ns, 1000000);
    assert_int_equal(registration(&recording, 2)->alive.end_ns, TIME_UNKNOWN);
    assert_int_equal(registration(&recording, 2)->device, 1);
    /* Was there before, and was freed; allocated again, and freed again. */
    assert_int_equal(registration(&recording, 3)->alive.begin_ns, TIME_UNKNOWN);
    assert_int_equal(registration(&recording, 3)->alive.end_ns, 2000000);
    assert_int_equal(registration(&recording, 4)->alive.begin_ns, 3000000);
    assert_int_equal(registration(&recording, 4)->alive.end_ns, 4000000);
    recording_release(&recording);
}

static void expandable_segments(void **state)
{
    struct recording recording;
    read_text(
        &recording, "a.json",
        "{\"segments\": [" SEGMENT("4194304", ", \"is_expandable\": true") "], \"device_traces\": [[" ENTRY(
            "segment_map", "8388608", "1000") "]]}");
    assert_int_equal(registration(&recording, 0)->global_rank, COUNT_UNKNOWN);
    assert_int_equal(registration(&recording, 1)->kind, REGISTRATION_EXPANDABLE);
    assert_int_equal(registration(&recording, 2)->kind, REGISTRATION_EXPANDABLE);
    recording_release(&recording);
    read_text(&recording, "a.json",
              "{\"segments\": [" SEGMENT("4194304", "") "], \"device_traces\": [], "
              "\"allocator_settings\": {\"expandable_segments\": true}}");
    assert_int_equal(registration(&recording, 1)->kind, REGISTRATION_EXPANDABLE);
    recording_release(&recording);
}

/* Python's pickle, protocol 2: {"segments": [{"address": 2^40, "total_size": 2 MiB}], "device_traces": []} */
static void a_pickle(void **state)
{
    static const char pickle[] =
        "\x80\x02}(X\x08\0\0\0segments](}(X\x07\0\0\0address\x8a\x06\0\0\0\0\0\x01"
        "X\x0a\0\0\0total_sizeJ\0\0\x20\0ue"
        "X\x0d\0\0\0device_traces]u.";
    struct recording recording;
    recording_of_bytes(&recording, "memory-5.pickle", pickle, sizeof pickle - 1);
    assert_string_equal(recording.dialect, "memory-snapshot");
    assert_int_equal(recording.status, 0);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 2);
    assert_int_equal(registration(&recording, 0)->global_rank, 5);
    assert_true(registration(&recording, 1)->address == UINT64_C(1) << 40);
    assert_int_equal(registration(&recording, 1)->bytes, 2097152);
    recording_release(&recording);
}

/* Invalid sizes are damage; a truncated file is read as far as possible. */
static void hostile_snapshots(void **state)
{
    struct recording recording;
    read_text(&recording, "a.json",
              "{\"segments\": [{\"address\": -5, \"total_size\": 8}, {\"address\": 5, \"total_size\": 0}, "
              "{\"address\": 9223372036854775807, \"total_size\": 9223372036854775807}, 7], "
              "\"device_traces\": [[" ENTRY("segment_alloc", "5", "9223372036854775807") "]]}");
    assert_int_equal(recording_notes(&recording, "segment without address and size"), 3);
    assert_int_equal(recording_notes(&recording, "segment without address, size and time"), 1);
    assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 2);
    recording_release(&recording);
    read_text(&recording, "a.json",
              "{\"segments\": [" SEGMENT("4194304", "") ", {\"device\": 1, \"address\": 83886");
    assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 2);
    assert_int_equal(recording_damage(&recording), 1);
    recording_release(&recording);
}

static void ranks_in_names(void **state)
{
    static const struct {
        const char *path;
        int64_t rank;
    } all[] = {{"/a/memory_rank12.pickle", 12},
               {"rank_3_memory.pickle", 3},
               {"/rank7/memory.pickle", COUNT_UNKNOWN},
               {"snapshot-4.json.gz", 4},
               {"rankings_5.pickle", 5},
               {"rank123456789012.json", COUNT_UNKNOWN},
               {"frank2.json", 2}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(rank_named_in_path(all[i].path), all[i].rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_come_and_go),
        cmocka_unit_test(expandable_segments),
        cmocka_unit_test(a_pickle),
        cmocka_unit_test(hostile_snapshots),
        cmocka_unit_test(ranks_in_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
