#include "support/cmocka_all.h"

#include "format/telemetry.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

static struct text text(const char *words)
{
    return (struct text){words, strlen(words)};
}

static void numbers(void **state)
{
    assert_true(telemetry_number(text("1980 MHz")) == 1980);
    assert_true(telemetry_number(text(" 98 %")) == 98);
    assert_true(telemetry_number(text("98%")) == 98);
    assert_true(telemetry_number(text("0x0000000000000048")) == 0x48);
    assert_true(telemetry_number(text("1,234")) == 1234);
    assert_true(telemetry_number(text("-3.5e2")) == -350);
    static const char *const none[] = {"",     "N/A",   "[N/A]", "[Not Supported]", "-", "NaN", "nan", "inf",
                                       "+Inf", "1e999", "12x",   "Active",          "."};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_true(isnan(telemetry_number(text(none[i]))));
}

static void bus_ids(void **state)
{
    static const char *const same[] = {"3b:00.0", "0000:3B:00", "0000:3b:00.0", "00000000:3B:00.0", "3B:00"};
    static const char *const none[] = {"",       "3b", "3b:0", "3b:00:00", "000:3b:00.0", "123456789:3b:00.0",
                                       "xx:00.0"};
    char bus[BUS_ID_BYTES];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_true(telemetry_bus_id(text(same[i]), bus));
        assert_string_equal(bus, "00000000:3b:00.0");
    }
    assert_true(telemetry_bus_id(text("0008:01:00.2"), bus));
    assert_string_equal(bus, "00000008:01:00.2");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcmp(none[i], "3b:00:00") != 0)
            assert_false(telemetry_bus_id(text(none[i]), bus));
}

static void check_host(const char *path, const char *expected)
{
    char host[HOST_BYTES];
    assert_int_equal(telemetry_host_of_path(path, host), expected != NULL);
    assert_string_equal(host, expected ? expected : "");
}

static void hosts(void **state)
{
    check_host("dmesg.node017.txt", "node017");
    check_host("/a/b/node017.dmesg", "node017");
    check_host("dmesg-node017-20261126-101112.txt", "node017");
    check_host("gpu-a100-3.log", "gpu-a100-3");
    check_host("node-17_nvidia-smi.csv", "node-17");
    check_host("node-exporter-node017.prom", "node017");
    check_host("nvidia-smi-dgx2-1795687872.csv", "dgx2");
    check_host("node017/dmesg", "node017");
    check_host("logs/node017/dmesg.txt", "node017");
    check_host("dmesg.node017.cluster1.example.txt", "node017");
    check_host("ip-10-0-0-17/ethtool.eth0.txt", "ip-10-0-0-17");
    check_host("dmesg", NULL);
    check_host("logs/dmesg.1.txt", NULL);
    check_host("run3/gpu0.csv", NULL);
    check_host("traces/rank3_nvidia-smi.csv", NULL);
    check_host("20261126-101112/dmesg.txt", NULL);
    check_host("2026-11-26T10/metrics.prom", NULL);
    check_host("exp-h100/dmesg.txt", NULL);
    check_host("llama70b/dmesg.txt", NULL);
    check_host("ncclprof-unit-4fGh1x/dmesg", NULL);
    check_host("gpu-17/dmesg", "gpu-17");
    check_host("", NULL);
    check_host("/", NULL);
}

static void interfaces(void **state)
{
    char name[64];
    assert_true(telemetry_interface_of_path("/x1/node017.ethtool.ens3f0np0.txt", name));
    assert_string_equal(name, "ens3f0np0");
    assert_true(telemetry_interface_of_path("ethtool-S-eth0-1795687872", name));
    assert_string_equal(name, "eth0");
    assert_false(telemetry_interface_of_path("eth0/ethtool.txt", name));
    assert_false(telemetry_interface_of_path("ethtool.txt", name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(bus_ids),
        cmocka_unit_test(hosts),
        cmocka_unit_test(interfaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
