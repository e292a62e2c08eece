#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Six ranks on three hosts, two each: the text for some of them. */
enum { RANKS = 6 };

struct place {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicator;
    struct job_instance instance;
};

static void place_init(struct place *place)
{
    static char names[][2] = {"0", "1", "2", "3", "4", "5"}, hosts[][2] = {"a", "b", "c"}, label[] = "4,5";
    *place = (struct place){.communicator = {.label = label}};
    for (int i = 0; i < RANKS; i++)
        place->ranks[i] =
            (struct job_rank){.name = names[i],
                              .global_rank = i,
                              .count = 1,
                              .facts = {.host = hosts[i / 2], .gpu = i % 2, .local_rank = COUNT_UNKNOWN}};
    place->job = (struct job){.ranks = place->ranks,
                              .rank_count = RANKS,
                              .communicators = &place->communicator,
                              .communicator_count = 1,
                              .instances = &place->instance,
                              .instance_count = 1};
}

static void check(const struct place *place, const struct finding *finding,
                  int (*say)(const struct finding *, const struct job *, struct buffer *),
                  const char *expected)
{
    struct buffer text = BUFFER_INIT;
    assert_int_equal(say(finding, &place->job, &text), 0);
    assert_string_equal(text.data, expected);
    buffer_release(&text);
}

static void what_units_are_called(void **state)
{
    struct place place;
    int32_t host[] = {2, 3}, apart[] = {1, 2};
    place_init(&place);
    struct finding finding = {.rank = 2, .ranks = host, .rank_count = 2};
    check(&place, &finding, finding_name_ranks, "host b (ranks 2 and 3)");
    check(&place, &finding, finding_name_unit, "host b");
    assert_string_equal(finding_host(&finding, &place.job), "b");
    finding.ranks = apart;
    check(&place, &finding, finding_name_unit, "ranks 1 and 2");
    assert_null(finding_host(&finding, &place.job));
    assert_null(finding_facts(&finding, &place.job));
    /* Both ranks of a host with a third rank are not the whole host. */
    place.ranks[4].facts.host = (char[]){"b"};
    finding.ranks = host;
    check(&place, &finding, finding_name_unit, "ranks 2 and 3");
    assert_string_equal(finding_host(&finding, &place.job), "b");
}

/* What the six ranks are called with their places: two on each of the hosts a, b and c, on GPUs 0 and 1. */
static void where_ranks_at_fault_run(void **state)
{
    struct place place;
    int32_t host[] = {2, 3}, apart[] = {1, 2}, many[] = {0, 1, 2, 3, 4};
    place_init(&place);
    struct finding finding = {.rank = 3};
    check(&place, &finding, finding_name_accused, "rank 3 (b, GPU 1)");
    check(&place, &finding, finding_list_hosts, "b");
    check(&place, &finding, finding_list_gpus, "1");
    finding = (struct finding){.rank = 2, .ranks = host, .rank_count = 2};
    check(&place, &finding, finding_name_accused, "host b (ranks 2 and 3)");
    check(&place, &finding, finding_list_hosts, "b");
    check(&place, &finding, finding_list_gpus, "0,1");
    finding.ranks = apart;
    check(&place, &finding, finding_name_accused, "rank 1 (a, GPU 1) and rank 2 (b, GPU 0)");
    check(&place, &finding, finding_list_hosts, "a,b");
    finding = (struct finding){.rank = 1, .candidates = apart, .candidate_count = 2};
    check(&place, &finding, finding_name_accused, "rank 1 (a, GPU 1) or rank 2 (b, GPU 0)");
    finding = (struct finding){.rank = 0, .ranks = many, .rank_count = 5};
    check(&place, &finding, finding_name_accused, "ranks 0 to 4 on hosts a, b and c");
}

/* What is not recorded is left out; a number that all ranks of a host have is not that of the host. */
static void places_that_are_not_known(void **state)
{
    struct place place;
    int32_t apart[] = {1, 2};
    place_init(&place);
    struct finding finding = {.rank = 3};
    place.ranks[2].facts.gpu = place.ranks[3].facts.gpu = 0;
    check(&place, &finding, finding_name_accused, "rank 3 (b)");
    place.ranks[3].facts.gpu_bus_id = (char[]){"0000:1b:00.0"};
    check(&place, &finding, finding_name_accused, "rank 3 (b, GPU 0000:1b:00.0)");
    place.ranks[3].facts = (struct roster_facts){.gpu = 1};
    check(&place, &finding, finding_name_accused, "rank 3 (GPU 1)");
    place.ranks[3].facts.gpu = COUNT_UNKNOWN;
    check(&place, &finding, finding_name_accused, "rank 3");
    place.ranks[3].name = (char[]){"b:77"};
    place.ranks[3].facts.host = (char[]){"b"};
    check(&place, &finding, finding_name_accused, "rank b:77");
    for (int i = 0; i < RANKS; i++)
        place.ranks[i].facts = (struct roster_facts){.gpu = COUNT_UNKNOWN};
    finding = (struct finding){.rank = 1, .ranks = apart, .rank_count = 2};
    check(&place, &finding, finding_name_accused, "ranks 1 and 2");
}

/* A host is drained for a certain fault of its hardware that has not ended. */
static void what_to_do_first(void **state)
{
    struct place place;
    place_init(&place);
    place.job.step_count = 10;
    struct finding finding = {.kind = FINDING_COMPUTE,
                              .confidence = CONFIDENCE_HIGH,
                              .rank = 3,
                              .first_step = 4,
                              .last_step = 8,
                              .instance = -1};
    check(&place, &finding, finding_append_action, "drain host b and test GPU 1");
    finding.last_step = 7;
    check(&place, &finding, finding_append_action, "look at the GPU of rank 3 (b, GPU 1)");
    finding.period = 3;
    check(&place, &finding, finding_append_action, "drain host b and test GPU 1");
    finding.confidence = CONFIDENCE_MEDIUM;
    check(&place, &finding, finding_append_action, "look at the GPU of rank 3 (b, GPU 1)");
    finding = (struct finding){
        .kind = FINDING_NETWORK, .confidence = CONFIDENCE_HIGH, .rank = 3, .last_step = 9, .nic = "mlx5_0"};
    check(&place, &finding, finding_append_action, "drain host b and test its network card mlx5_0");
    finding.pause_ns = 1;
    check(&place, &finding, finding_append_action,
          "look at the network card and switch port of rank 3 (b, GPU 1)");
    finding.kind = FINDING_HOST;
    check(&place, &finding, finding_append_action, "look at the process of rank 3 (b, GPU 1)");
    finding.pause_ns = 0;
    check(&place, &finding, finding_append_action,
          "look at the CPU load and data loading of rank 3 (b, GPU 1)");
    finding =
        (struct finding){.kind = FINDING_MISSING, .confidence = CONFIDENCE_HIGH, .rank = 3, .stops_job = 1};
    check(&place, &finding, finding_append_action, "look at the stack of rank 3 (b, GPU 1)");
    place.ranks[3].facts = (struct roster_facts){.gpu = COUNT_UNKNOWN};
    finding = (struct finding){
        .kind = FINDING_COMPUTE, .confidence = CONFIDENCE_HIGH, .rank = 3, .last_step = 9, .instance = -1};
    check(&place, &finding, finding_append_action, "drain the host of rank 3 and test its GPU");
}

static void lists_of_ranks(void **state)
{
    struct place place;
    int32_t some[] = {0, 1, 2, 4, 5}, one[] = {3};
    struct buffer text = BUFFER_INIT;
    place_init(&place);
    assert_int_equal(ranks_append_list(&place.job, some, 5, &text), 0);
    assert_string_equal(text.data, "ranks 0-2, 4-5");
    buffer_clear(&text);
    assert_int_equal(ranks_append_list(&place.job, one, 1, &text), 0);
    assert_string_equal(text.data, "rank 3");
    buffer_clear(&text);
    for (int i = 0; i < RANKS; i++)
        place.ranks[i].global_rank = -1;
    assert_int_equal(ranks_append_list(&place.job, some, 5, &text), 0);
    assert_string_equal(text.data, "ranks 0, 1, 2, 4 and 1 more");
    buffer_release(&text);
}

static void how_many_hosts(void **state)
{
    struct place place;
    size_t hosts;
    place_init(&place);
    assert_int_equal(job_count_hosts(&place.job, &hosts), 0);
    assert_int_equal(hosts, 3);
    /* A rank without a trace may be on any host. */
    place.ranks[5].count = 0;
    place.ranks[5].facts.host = NULL;
    assert_int_equal(job_count_hosts(&place.job, &hosts), 0);
    assert_int_equal(hosts, 3);
    place.ranks[0].facts.host = NULL;
    assert_int_equal(job_count_hosts(&place.job, &hosts), 0);
    assert_int_equal(hosts, 0);
}

/* The traces' names of hosts and cards, and the command that shows the ranks at fault among their peers. */
static void what_to_look_at(void **state)
{
    struct place place;
    place_init(&place);
    struct finding finding = {.kind = FINDING_COMPUTE,
                              .confidence = CONFIDENCE_HIGH,
                              .rank = 3,
                              .first_step = 4,
                              .last_step = 8,
                              .instance = -1};
    check(
        &place, &finding, finding_append_next,
        "check nvidia-smi -q of CUDA device 1 (clocks, throttling, ECC) and dmesg (Xid) on host b (rank 3). "
        "Confirm with: ncclprof steps --by rank --step 4-8");
    place.ranks[3].facts.gpu_bus_id = (char[]){"0000:1b:00.0"};
    check(&place, &finding, finding_advise,
          "check nvidia-smi -q -i 0000:1b:00.0 (clocks, throttling, ECC) and dmesg (Xid) on host b (rank 3)");
    finding.confidence = CONFIDENCE_LOW;
    finding.last_step = 4;
    check(&place, &finding, finding_append_command, "ncclprof steps --by rank --all --step 4");
    finding = (struct finding){.kind = FINDING_NETWORK,
                               .confidence = CONFIDENCE_HIGH,
                               .rank = 3,
                               .first_step = 4,
                               .last_step = 4,
                               .peers = (int32_t[]){1},
                               .peer_count = 1};
    check(&place, &finding, finding_append_command, "ncclprof steps --by rank --step 4");
    place.job.traffic_count = 1;
    place.ranks[3].facts.nic = (char[]){"mlx5_0"};
    check(&place, &finding, finding_append_next,
          "check NIC counters (ethtool -S, rdma statistic) and the switch port of mlx5_0 on host b (rank 3). "
          "Confirm with: ncclprof stalls --top 16");
    finding = (struct finding){.kind = FINDING_ERROR, .rank = 3, .first_step = -1, .instance = -1};
    check(&place, &finding, finding_append_command, "ncclprof info --warnings");
    finding = (struct finding){.kind = FINDING_HOST, .rank = 3, .first_step = -1, .at_start = 1};
    check(&place, &finding, finding_append_command, "ncclprof startup");
}

/* The command carries what it reads. Its run is named if there are several, as here none. */
static void what_the_command_reads(void **state)
{
    struct place place;
    struct error error = ERROR_INIT;
    char path[] = "/tmp/ncclprof-command-XXXXXX";
    int file = mkstemp(path);
    place_init(&place);
    place.job.run_id = 7;
    place.job.store = store_open(path, STORE_CREATE, &error);
    assert_non_null(place.job.store);
    assert_int_equal(store_set_command(place.job.store, "/opt/ncclprof", " '/data/a b'", &error), 0);
    struct finding finding = {.kind = FINDING_MISSING, .rank = 5, .first_step = 6, .last_step = 6};
    check(&place, &finding, finding_append_next,
          "check py-spy dump and stderr of rank 5 on host c to locate it in the program. Confirm with: "
          "/opt/ncclprof steps --by rank --step 6 '/data/a b'");
    assert_int_equal(store_execute(place.job.store,
                                   "INSERT INTO run (run_id, rank_count, expected_ranks, step_count, "
                                   "step_source, global_ranks) VALUES (7, 6, 6, 9, 'tags', 1), (8, 6, 6, 9, "
                                   "'tags', 1)",
                                   &error),
                     0);
    assert_int_equal(store_set_command(place.job.store, "ncclprof", " --store /data/a.db", &error), 0);
    check(&place, &finding, finding_append_command,
          "ncclprof steps --by rank --step 6 --run 7 --store /data/a.db");
    store_close(place.job.store);
    close(file);
    unlink(path);
}

/* Names from a trace must not change the meaning of a shell command. */
static void names_that_a_shell_would_read(void **state)
{
    struct place place;
    place_init(&place);
    struct finding finding = {.kind = FINDING_MISMATCH, .rank = 5, .first_step = 6, .last_step = 6};
    static const struct {
        const char *label, *option;
    } hostile[] = {{"4,5", " --communicator 4,5"},
                   {"$(reboot)", " --communicator '$(reboot)'"},
                   {"a;b", " --communicator 'a;b'"},
                   {"a b", " --communicator 'a b'"},
                   {"`x`", " --communicator '`x`'"},
                   {"a'b", " --communicator 'a'\\''b'"},
                   {"a\nb-", " --communicator \"$(printf 'a\\012b\\055')\""},
                   {"-x", ""},
                   {"", ""}};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char expected[160];
        place.communicator.label = (char *)(uintptr_t)hostile[i].label;
        snprintf(expected, sizeof expected, "ncclprof report --by rank,function,size%s --step 6",
                 hostile[i].option);
        check(&place, &finding, finding_append_command, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_units_are_called),
        cmocka_unit_test(where_ranks_at_fault_run),
        cmocka_unit_test(places_that_are_not_known),
        cmocka_unit_test(what_to_do_first),
        cmocka_unit_test(lists_of_ranks),
        cmocka_unit_test(how_many_hosts),
        cmocka_unit_test(what_to_look_at),
        cmocka_unit_test(what_the_command_reads),
        cmocka_unit_test(names_that_a_shell_would_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
