/* Host, GPU and network card of a process, read from a simulated system. */
#include "support/cmocka_all.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/write/files.c"
#include "plugin/write/hardware.c"
#include "plugin/write/path.c"
#include "plugin/write/write.h"

static char root[] = "/tmp/ncclprof-place-XXXXXX";

static void make_file(const char *path, const char *content)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int make_root(void **state)
{
    (void)state;
    memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    static const char *const names[] = {"RANK",
                                        "LOCAL_RANK",
                                        "SLURM_PROCID",
                                        "SLURM_LOCALID",
                                        "ROLE_NAME",
                                        "ROLE_RANK",
                                        "NCCL_IB_HCA",
                                        "NCCL_IB_DISABLE",
                                        "NCCL_SOCKET_IFNAME",
                                        "NCCL_NET",
                                        "CUDA_DEVICE_ORDER",
                                        "CUDA_VISIBLE_DEVICES",
                                        "NCCLPROF_RANK_NAME"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct place find(void)
{
    struct place place;
    place_read_environment(&place);
    place_find_devices(&place, root);
    return place;
}

/* A GPU, as the driver shows it. */
static void make_gpu(const char *bus, int minor, const char *uuid, const char *model)
{
    char path[128];
    char text[512];
    snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", bus);
    snprintf(text, sizeof(text),
             "Model: \t\t %s\nIRQ:   \t\t 41\nGPU UUID: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\n"
             "Device Minor: \t %d\nGPU Excluded:\t No\n",
             model, uuid, bus, minor);
    make_file(path, text);
}

static int descriptors;

static void open_often(const char *device, int times)
{
    for (int i = 0; i < times; i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/proc/self/fd/%d", root, descriptors++);
        assert_int_equal(symlink(device, path), 0);
    }
}

/* Two GPUs whose numbers are not in the order of their bus IDs, opened the given number of times. */
static void two_gpus(const char *second_model, int first, int second)
{
    make_file("/proc/self/fd/x", "");
    make_gpu("0000:af:00.0", 0, "GPU-of", "H100");
    make_gpu("0000:3b:00.0", 1, "GPU-3b", second_model);
    open_often("/dev/nvidiactl", 30);
    open_often("/dev/nvidia-uvm", 30);
    open_often("/dev/nvidia0", first);
    open_often("/dev/nvidia1", second);
}

static void the_one_with_a_context(void **state)
{
    (void)state;
    two_gpus("H100", 7, 20);
    struct place place = find();
    assert_string_equal(place.gpu.bus, "0000:3b:00.0");
    assert_string_equal(place.gpu.uuid, "GPU-3b");
    assert_int_equal(place.gpu.number, 0);
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    assert_int_equal(find().gpu.number, 0);
    /* In any other order, they cannot be identified without CUDA. */
    static const char *const others[] = {"1,0", "GPU-3b,GPU-of", "0,0", "0;1"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        setenv("CUDA_VISIBLE_DEVICES", others[i], 1);
        assert_int_equal(find().gpu.number, -1);
        assert_string_equal(find().gpu.bus, "0000:3b:00.0");
    }
}

static void the_only_one(void **state)
{
    (void)state;
    two_gpus("H100", 4, 0);
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    struct place place = find();
    assert_string_equal(place.gpu.bus, "0000:af:00.0");
    assert_int_equal(place.gpu.number, 0);
}

/* Contexts on both, or on none yet. */
static void none_of_several(void **state)
{
    (void)state;
    two_gpus("H100", 20, 21);
    assert_string_equal(find().gpu.bus, "");
    assert_string_equal(find().gpu.uuid, "");
    assert_int_equal(find().gpu.number, -1);
}

/* CUDA puts the fastest first, which is independent of the bus. */
static void devices_that_differ(void **state)
{
    (void)state;
    two_gpus("T4", 4, 20);
    assert_string_equal(find().gpu.bus, "0000:3b:00.0");
    assert_int_equal(find().gpu.number, -1);
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    assert_int_equal(find().gpu.number, 0);
}

static void what_the_driver_does_not_know(void **state)
{
    (void)state;
    make_file("/proc/self/fd/x", "");
    make_gpu("0000:3b:00.0", 2, "GPU-????????", "H100");
    make_file("/proc/driver/nvidia/gpus/0000:af:00.0/information", "");
    make_file("/proc/driver/nvidia/gpus/0000:bf:00.0/information", "Device Minor: 999\nBus Location: x\n");
    open_often("/dev/nvidia2", 1);
    open_often("/dev/nvidia12345678", 5);
    open_often("/dev/nvidia2x", 5);
    open_often("/dev/nvidia", 5);
    assert_string_equal(find().gpu.bus, "0000:3b:00.0");
    assert_string_equal(find().gpu.uuid, "");
}

static void a_machine_without_any(void **state)
{
    (void)state;
    struct place place = find();
    assert_int_equal(place.rank, -1);
    assert_int_equal(place.local_rank, -1);
    assert_int_equal(place.gpu.number, -1);
    assert_string_equal(place.gpu.bus, "");
    assert_string_equal(place.nic, "");
    assert_string_equal(place.rank_name, "");
}

/*
 * Torchrun's variables are preferred to those of the launcher that started it; incomplete variables are not
 * combined with others.
 */
static void what_launchers_say(void **state)
{
    (void)state;
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_LOCALID", "0", 1);
    assert_int_equal(find().rank, 1);
    assert_int_equal(find().local_rank, 0);
    setenv("RANK", "11", 1);
    assert_int_equal(find().rank, 11);
    assert_int_equal(find().local_rank, -1);
    setenv("LOCAL_RANK", "3", 1);
    assert_int_equal(find().local_rank, 3);
    static const char *const senseless[] = {"-1", "3x", " 3", "99999999999999999999", "2147483647"};
    for (size_t i = 0; i < sizeof(senseless) / sizeof(senseless[0]); i++) {
        setenv("RANK", senseless[i], 1);
        assert_int_equal(find().rank, -1);
    }
}

static void names_of_ranks(void **state)
{
    (void)state;
    setenv("ROLE_NAME", "default", 1);
    setenv("ROLE_RANK", "4", 1);
    assert_string_equal(find().rank_name, "");
    setenv("ROLE_NAME", "trainer", 1);
    assert_string_equal(find().rank_name, "trainer 4");
    setenv("NCCLPROF_RANK_NAME", "tp0 \"dp1\"", 1);
    assert_string_equal(find().rank_name, "tp0 \"dp1\"");
}

static void make_card(const char *name, const char *state)
{
    char path[128];
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/state", name);
    make_file(path, state);
    make_file("/dev/infiniband/uverbs0", "");
}

static void make_interface(const char *name, const char *state)
{
    char path[128];
    snprintf(path, sizeof(path), "/sys/class/net/%s/operstate", name);
    make_file(path, state);
}

static const char *card_with(const char *name, const char *value)
{
    static struct place place;
    setenv(name, value, 1);
    place = find();
    unsetenv(name);
    return place.nic;
}

/* Network cards that are up and that NCCL's list allows, if only one is left. */
static void one_card(void **state)
{
    (void)state;
    make_card("mlx5_0", "4: ACTIVE\n");
    make_card("mlx5_1", "1: DOWN\n");
    make_interface("eth0", "up\n");
    assert_string_equal(find().nic, "mlx5_0");
    make_card("mlx5_10", "4: ACTIVE\n");
    assert_string_equal(find().nic, "");
    assert_string_equal(card_with("NCCL_IB_HCA", "mlx5_10"), "mlx5_10");
    assert_string_equal(card_with("NCCL_IB_HCA", "mlx5_1"), "mlx5_10");
    assert_string_equal(card_with("NCCL_IB_HCA", "=mlx5_0:1"), "mlx5_0");
    assert_string_equal(card_with("NCCL_IB_HCA", "^mlx5_1"), "mlx5_0");
    assert_string_equal(card_with("NCCL_IB_HCA", "^=mlx5_0,mlx5_1"), "mlx5_10");
    assert_string_equal(card_with("NCCL_IB_HCA", "mlx5_0,mlx5_10"), "");
    assert_string_equal(card_with("NCCL_IB_DISABLE", "1"), "eth0");
    assert_string_equal(card_with("NCCL_NET", "Socket"), "");
}

static void one_interface(void **state)
{
    (void)state;
    make_interface("lo", "up\n");
    make_interface("docker0", "up\n");
    make_interface("eth1", "down\n");
    make_interface("eth0", "up\n");
    assert_string_equal(find().nic, "eth0");
    make_interface("ens5", "up\n");
    assert_string_equal(find().nic, "");
    assert_string_equal(card_with("NCCL_SOCKET_IFNAME", "ens"), "ens5");
    assert_string_equal(card_with("NCCL_SOCKET_IFNAME", "=ens"), "");
    /* A card that the container cannot open is not used. */
    char cards[256];
    make_card("mlx5_0", "4: ACTIVE\n");
    snprintf(cards, sizeof(cards), "%s/dev/infiniband/uverbs0", root);
    assert_int_equal(remove(cards), 0);
    *strrchr(cards, '/') = '\0';
    assert_int_equal(remove(cards), 0);
    assert_string_equal(card_with("NCCL_SOCKET_IFNAME", "eth0"), "eth0");
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_MACHINE(the_one_with_a_context),
        ON_A_MACHINE(the_only_one),
        ON_A_MACHINE(none_of_several),
        ON_A_MACHINE(devices_that_differ),
        ON_A_MACHINE(what_the_driver_does_not_know),
        ON_A_MACHINE(a_machine_without_any),
        ON_A_MACHINE(what_launchers_say),
        ON_A_MACHINE(names_of_ranks),
        ON_A_MACHINE(one_card),
        ON_A_MACHINE(one_interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
