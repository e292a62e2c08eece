/* Strings that applications register with NVTX. */
#include "support/cmocka_all.h"

#include <stdio.h>

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/recorder/nvtx.c"
#include "plugin/recorder/nvtx_abi.h"
#include "plugin/recorder/recorder.h"

static char pushed[64];

const struct config_tags *config_tags(void)
{
    static const struct config_tags tags = {.domains = "kept"};
    return &tags;
}

void tag_push(const void *domain, const char *text, size_t length)
{
    (void)domain;
    snprintf(pushed, sizeof(pushed), "%.*s", (int)length, text);
}

void tag_pop(const void *domain)
{
    (void)domain;
}

void tag_mark(const char *text, size_t length)
{
    (void)text, (void)length;
}

static void push_registered(const void *domain, const void *registered)
{
    struct nvtx_attributes attributes = {.size = sizeof(attributes),
                                         .message_type = NVTX_MESSAGE_REGISTERED,
                                         .message = {.registered = registered}};
    on_domain_push_ex(domain, &attributes);
}

static void strings_of_kept_domains_are_remembered(void **state)
{
    (void)state;
    const void *domain = on_domain_a("kept");
    const void *one = on_register_a(domain, "one");
    const void *two = on_register_w(domain, L"tw\u00f6");
    push_registered(domain, one);
    assert_string_equal(pushed, "one");
    push_registered(domain, two);
    assert_string_equal(pushed, "tw\xc3\xb6");
}

/* Each has a handle, as NVTX requires, but none takes memory. */
static void strings_of_other_domains_are_not(void **state)
{
    (void)state;
    const struct registered *before = texts;
    const void *domains_unkept[] = {NULL, on_domain_a("other")};
    for (int i = 0; i < 2; i++) {
        assert_non_null(on_register_a(domains_unkept[i], "one"));
        assert_non_null(on_register_w(domains_unkept[i], L"two"));
        assert_ptr_equal(texts, before);
        pushed[0] = '\0';
        push_registered(domains_unkept[i], on_register_a(domains_unkept[i], "one"));
        assert_string_equal(pushed, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_of_kept_domains_are_remembered),
        cmocka_unit_test(strings_of_other_domains_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
