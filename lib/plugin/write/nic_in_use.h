/* Which network card NCCL uses, where the system and its settings leave only one. */
#ifndef PLUGIN_WRITE_NIC_IN_USE_H
#define PLUGIN_WRITE_NIC_IN_USE_H

#include <stdbool.h>
#include <stddef.h>

/* What the environment tells NCCL of its network. */
struct nic_settings {
    bool is_other;        /* another plugin's, or one that is named */
    bool is_socket;       /* not InfiniBand, nor what looks like it */
    char cards[256];      /* NCCL_IB_HCA, or "^": all */
    char interfaces[256]; /* NCCL_SOCKET_IFNAME, or NCCL's default */
};

void nic_settings_read(struct nic_settings *settings);

/* "mlx5_0", "eth0"; empty where there are several, or it is not known. `root` stands before /sys: "". */
void nic_in_use_find(char *nic, size_t size, const struct nic_settings *settings, const char *root);

#endif
