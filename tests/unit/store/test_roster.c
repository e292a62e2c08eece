#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

/*
 * Two jobs. In the first, rank 2 recorded nothing and a process has no global rank; communicator 5 has two
 * members that claim one number. The rows of the second job were written first. Member 9 belongs to a rank
 * that does not exist.
 */
static const char rows[] =
    "INSERT INTO run (run_id, rank_count, expected_ranks, step_count, step_source, global_ranks)"
    " VALUES (2, 1, 1, 0, 'none', 0), (1, 3, 4, 7, 'tags', 1);"
    "INSERT INTO job_rank (job_rank_id, run_id, process_id, global_rank, name)"
    " VALUES (1, 2, 30, NULL, 'a:30'), (2, 1, 12, NULL, 'b:12'), (3, 1, 11, 3, '3'), (4, 1, NULL, 2, '2'),"
    "        (5, 1, 10, 0, '0');"
    "INSERT INTO process (process_id, file_set, host, pid, started_ns)"
    " VALUES (10, '', 'a', 10, 0), (11, '', 'a', 11, 0), (12, '', 'b', 12, 0), (30, '', 'a', 30, 0);"
    "INSERT INTO communicator (communicator_id, hash) VALUES (5, 77), (6, 0), (4, 78);"
    "INSERT INTO communicator_join (communicator_id, run_id, size, size_is_known, label)"
    " VALUES (6, 2, 1, 0, 'of two'), (5, 1, 4, 1, 'z'), (4, 1, 2, 0, 'y');"
    "INSERT INTO member (member_id, communicator_id, rank, process_id)"
    " VALUES (7, 5, 3, 11), (8, 5, 0, 10), (6, 5, 0, 12), (5, 4, 1, 11), (4, 6, 0, 30), (9, 4, 0, 10);"
    "INSERT INTO member_join (member_id, job_rank_id) VALUES (7, 3), (8, 5), (6, 2), (5, 3), (4, 1), (9, "
    "99);";

static struct store *open_with_rows(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(store_execute(store, "PRAGMA foreign_keys = OFF", NULL), 0);
    assert_int_equal(store_execute(store, rows, NULL), 0);
    return store;
}

static void check_rank(const struct roster *roster, size_t at, int64_t id, int64_t run_id,
                       int64_t global_rank, int64_t process_id, const char *name)
{
    const struct roster_rank *rank = &roster->ranks[at];
    assert_int_equal(rank->id, id);
    assert_int_equal(roster->runs[rank->run].id, run_id);
    assert_int_equal(rank->global_rank, global_rank);
    assert_int_equal(rank->process_id, process_id);
    assert_string_equal(rank->name, name);
    assert_int_equal(roster_rank(roster, id), at);
}

static void test_one_run(void **state)
{
    struct store *store = open_with_rows(state);
    struct roster roster;
    assert_int_equal(roster_load(&roster, store, 1, NULL), 0);
    assert_int_equal(roster.run_count, 1);
    assert_int_equal(roster.runs[0].expected_ranks, 4);
    assert_int_equal(roster.runs[0].step_count, 7);
    assert_int_equal(roster.runs[0].has_global_ranks, 1);
    assert_string_equal(roster.runs[0].step_source, "tags");
    assert_int_equal(roster.rank_count, 4);
    check_rank(&roster, 0, 5, 1, 0, 10, "0");
    check_rank(&roster, 1, 4, 1, 2, -1, "2");
    check_rank(&roster, 2, 3, 1, 3, 11, "3");
    check_rank(&roster, 3, 2, 1, -1, 12, "b:12");
    assert_int_equal(roster_rank(&roster, 1), -1);
    assert_int_equal(roster.communicator_count, 2);
    assert_int_equal(roster_communicator(&roster, 4), 0);
    assert_int_equal(roster_communicator(&roster, 5), 1);
    assert_int_equal(roster_communicator(&roster, 6), -1);
    assert_int_equal(roster.communicators[1].size, 4);
    assert_int_equal(roster.communicators[1].hash, 77);
    assert_int_equal(roster.communicators[1].size_is_known, 1);
    assert_int_equal(roster.communicators[0].size_is_known, 0);
    assert_string_equal(roster.communicators[1].label, "z");
    roster_release(&roster);
    store_close(store);
}

/* By communicator, number and ID; none is omitted, not even those of another run. */
static void test_members(void **state)
{
    static const struct {
        int64_t id, communicator_id, number, rank_id;
    } wanted[] = {{5, 4, 1, 3}, {6, 5, 0, 2}, {8, 5, 0, 5}, {7, 5, 3, 3}};
    struct store *store = open_with_rows(state);
    struct roster roster;
    assert_int_equal(roster_load(&roster, store, 1, NULL), 0);
    assert_int_equal(roster.member_count, 0);
    assert_int_equal(roster_load_members(&roster, store, 1, NULL), 0);
    assert_int_equal(roster.member_count, 4);
    for (size_t i = 0; i < roster.member_count; i++) {
        const struct roster_member *member = roster_member(&roster, wanted[i].id);
        assert_ptr_equal(member, &roster.members[i]);
        assert_int_equal(member->id, wanted[i].id);
        assert_int_equal(member->number, wanted[i].number);
        assert_int_equal(roster.communicators[member->communicator].id, wanted[i].communicator_id);
        assert_int_equal(roster.ranks[member->rank].id, wanted[i].rank_id);
    }
    assert_null(roster_member(&roster, 9));
    assert_null(roster_member(&roster, 4));
    roster_release(&roster);
    store_close(store);
}

/*
 * Of two that claim a number the last has it; a free place is that of the only rank without a record, and
 * there is none beyond the size.
 */
static void test_who_is_in_a_communicator(void **state)
{
    static const int64_t wanted[] = {5, 4, 4, 3};
    struct store *store = open_with_rows(state);
    struct roster roster;
    assert_int_equal(roster_load(&roster, store, 0, NULL), 0);
    assert_int_equal(roster_load_members(&roster, store, 0, NULL), 0);
    int32_t communicator = roster_communicator(&roster, 5);
    assert_int_equal(roster.communicators[communicator].member_list_count, 2);
    for (int64_t number = 0; number < 4; number++)
        assert_int_equal(roster.ranks[roster_rank_in(&roster, communicator, number)].id, wanted[number]);
    assert_int_equal(communicator_recorded_rank(&roster.communicators[communicator], 1), -1);
    assert_int_equal(roster_rank_in(&roster, communicator, -1), -1);
    assert_int_equal(roster_rank_in(&roster, communicator, 4), -1);
    roster_release(&roster);
    store_close(store);
}

/*
 * The first fact counts, and facts about the rank itself take precedence; a process's own host takes
 * precedence over a reported one.
 */
static void test_facts(void **state)
{
    static const char facts[] =
        "INSERT INTO process_fact (process_fact_id, process_id, member_id, local_rank, gpu, gpu_bus_id,"
        " gpu_serial, nic, host, rank_name)"
        " VALUES (4, 11, NULL, NULL, 7, '0000:af:00.0', NULL, NULL, 'c', NULL),"
        "        (5, 11, 7, NULL, 3, NULL, NULL, NULL, NULL, NULL),"
        "        (6, 11, 8, NULL, 9, NULL, 'not its own', NULL, NULL, NULL),"
        "        (7, 11, NULL, 1, 8, '0000:3b:00.0', 'GPU-1', 'mlx5_0', NULL, 'dp 1'),"
        "        (8, 30, NULL, 5, NULL, NULL, NULL, NULL, 'other run', NULL);"
        "UPDATE process SET host = '' WHERE process_id = 12;"
        "INSERT INTO process_fact (process_fact_id, process_id, host) VALUES (9, 12, 'told');";
    struct store *store = open_with_rows(state);
    struct roster roster;
    assert_int_equal(store_execute(store, facts, NULL), 0);
    assert_int_equal(roster_load(&roster, store, 1, NULL), 0);
    assert_int_equal(roster_load_facts(&roster, store, 1, NULL), 0);
    const struct roster_facts *of = &roster.ranks[roster_rank(&roster, 3)].facts;
    assert_string_equal(of->host, "a");
    assert_string_equal(of->gpu_bus_id, "0000:af:00.0");
    assert_string_equal(of->gpu_serial, "GPU-1");
    assert_string_equal(of->nic, "mlx5_0");
    assert_string_equal(of->rank_name, "dp 1");
    assert_int_equal(of->gpu, 3);
    assert_int_equal(of->local_rank, 1);
    of = &roster.ranks[roster_rank(&roster, 2)].facts;
    assert_string_equal(of->host, "told");
    assert_null(of->nic);
    assert_int_equal(of->gpu, COUNT_UNKNOWN);
    assert_null(roster.ranks[roster_rank(&roster, 4)].facts.host);
    assert_int_equal(store_file_number(store, "SELECT gpu FROM v_rank WHERE run_id = 1 AND rank = 3"), 3);
    assert_int_equal(
        store_file_number(store, "SELECT count(*) FROM v_rank WHERE host = 'told' AND nic IS NULL"), 1);
    roster_release(&roster);
    store_close(store);
}

static void test_all_runs(void **state)
{
    struct store *store = open_with_rows(state);
    struct roster roster;
    assert_int_equal(roster_load(&roster, store, 0, NULL), 0);
    assert_int_equal(roster_load_members(&roster, store, 0, NULL), 0);
    assert_int_equal(roster.run_count, 2);
    assert_int_equal(roster.runs[0].id, 1);
    assert_int_equal(roster.runs[1].id, 2);
    assert_int_equal(roster.rank_count, 5);
    check_rank(&roster, 4, 1, 2, -1, 30, "a:30");
    assert_int_equal(roster.communicator_count, 3);
    assert_int_equal(roster.runs[roster.communicators[2].run].id, 2);
    assert_int_equal(roster.member_count, 5);
    roster_release(&roster);
    store_close(store);
}

/* Records of a run that does not exist belong to no run. */
static void test_orphans(void **state)
{
    struct store *store = open_with_rows(state);
    struct roster roster;
    assert_int_equal(store_execute(store, "DELETE FROM run WHERE run_id = 1", NULL), 0);
    assert_int_equal(roster_load(&roster, store, 0, NULL), 0);
    assert_int_equal(roster_load_members(&roster, store, 0, NULL), 0);
    assert_int_equal(roster.run_count, 1);
    assert_int_equal(roster.rank_count, 1);
    assert_int_equal(roster.communicator_count, 1);
    assert_int_equal(roster.member_count, 1);
    roster_release(&roster);
    assert_int_equal(roster_load(&roster, store, 1, NULL), 0);
    assert_int_equal(roster_load_members(&roster, store, 1, NULL), 0);
    assert_int_equal(roster.run_count + roster.rank_count + roster.communicator_count + roster.member_count,
                     0);
    assert_int_equal(roster_rank(&roster, 1), -1);
    roster_release(&roster);
    roster_release(&roster);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_run, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_members, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_who_is_in_a_communicator, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_facts, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_all_runs, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_orphans, store_file_setup, store_file_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
