#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

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

static int advise(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return finding_advise(finding, job, 0, text);
}

static int advise_of_run(const struct finding *finding, const struct job *job, struct buffer *text)
{
    return finding_advise(finding, job, 1, text);
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

static void what_to_look_at(void **state)
{
    struct place place;
    place_init(&place);
    struct finding finding = {
        .kind = FINDING_COMPUTE, .rank = 3, .first_step = 4, .last_step = 8, .instance = -1};
    check(
        &place, &finding, advise,
        "check nvidia-smi -q of CUDA device 1 (clocks, throttling, ECC) and dmesg (Xid) on host b (rank 3). "
        "Confirm with: "
        "ncclprof steps --step 4-8");
    place.ranks[3].facts.gpu_bus_id = (char[]){"0000:1b:00.0"};
    check(&place, &finding, advise,
          "check nvidia-smi -q -i 0000:1b:00.0 (clocks, throttling, ECC) and dmesg (Xid) on host b (rank 3). "
          "Confirm with: "
          "ncclprof steps --step 4-8");
    finding = (struct finding){.kind = FINDING_NETWORK,
                               .rank = 3,
                               .first_step = 4,
                               .last_step = 4,
                               .peers = (int32_t[]){1},
                               .peer_count = 1};
    place.job.traffic_count = 1;
    place.ranks[3].facts.nic = (char[]){"mlx5_0"};
    check(&place, &finding, advise,
          "check NIC counters (ethtool -S, rdma statistic) and the switch port of mlx5_0 on host b (rank 3). "
          "Confirm with: "
          "ncclprof stalls --edge 3-1 --step 4");
    place.job.run_id = 7;
    check(&place, &finding, advise_of_run,
          "check NIC counters (ethtool -S, rdma statistic) and the switch port of mlx5_0 on host b (rank 3). "
          "Confirm with: "
          "ncclprof stalls --edge 3-1 --step 4 --run 7");
    finding.receives = 1;
    check(&place, &finding, advise,
          "check NIC counters (ethtool -S, rdma statistic) and the switch port of mlx5_0 on host b (rank 3). "
          "Confirm with: "
          "ncclprof stalls --edge 1-3 --step 4");
}

/* Names from a trace must not change the meaning of a shell command. */
static void names_that_a_shell_would_read(void **state)
{
    struct place place;
    place_init(&place);
    struct finding finding = {.kind = FINDING_MISSING, .rank = 5, .first_step = 6, .last_step = 6};
    check(&place, &finding, advise,
          "check py-spy dump and stderr of rank 5 on host c to locate it in the program. Confirm with: "
          "ncclprof report --by "
          "rank,function "
          "--communicator 4,5 --step 6");
    static char hostile[][10] = {"$(reboot)", "a;b", "a b", "-x", "", "`x`", "a'b", "a|b", "a\nb"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        place.communicator.label = hostile[i];
        check(&place, &finding, advise,
              "check py-spy dump and stderr of rank 5 on host c to locate it in the program. Confirm with: "
              "ncclprof report --by "
              "rank,function "
              "--step 6");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_units_are_called),
        cmocka_unit_test(how_many_hosts),
        cmocka_unit_test(what_to_look_at),
        cmocka_unit_test(names_that_a_shell_would_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
