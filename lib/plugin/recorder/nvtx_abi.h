/*
 * The tool interface of NVTX version 3, as far as ranges and marks need it. These are facts of its binary
 * interface.
 */
#ifndef PLUGIN_RECORDER_NVTX_ABI_H
#define PLUGIN_RECORDER_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

enum nvtx_core {
    NVTX_CORE_MARK_EX = 1,
    NVTX_CORE_MARK_A = 2,
    NVTX_CORE_MARK_W = 3,
    NVTX_CORE_RANGE_PUSH_EX = 8,
    NVTX_CORE_RANGE_PUSH_A = 9,
    NVTX_CORE_RANGE_PUSH_W = 10,
    NVTX_CORE_RANGE_POP = 11,
};

enum nvtx_core2 {
    NVTX_CORE2_DOMAIN_MARK_EX = 1,
    NVTX_CORE2_DOMAIN_RANGE_PUSH_EX = 4,
    NVTX_CORE2_DOMAIN_RANGE_POP = 5,
    NVTX_CORE2_DOMAIN_REGISTER_STRING_A = 10,
    NVTX_CORE2_DOMAIN_REGISTER_STRING_W = 11,
    NVTX_CORE2_DOMAIN_CREATE_A = 12,
    NVTX_CORE2_DOMAIN_CREATE_W = 13,
};

enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE = 2, NVTX_MESSAGE_REGISTERED = 3 };

struct nvtx_attributes {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *unicode;
        const void *registered;
    } message;
};

typedef void nvtx_function(void);

struct nvtx_callbacks {
    size_t struct_size;
    /*
     * Returns an array of pointers to function pointers. A null entry means that this version lacks the
     * function.
     */
    int (*module_table)(int module, nvtx_function ****table, unsigned *size);
};

_Static_assert(offsetof(struct nvtx_attributes, message_type) == 32, "layout of NVTX attributes");
_Static_assert(offsetof(struct nvtx_attributes, message) == 40, "layout of NVTX attributes");
_Static_assert(sizeof(struct nvtx_attributes) == 48, "layout of NVTX attributes");

#endif
