/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's backend against a library with the true interface. */
#include "tests/unit/accel/nvml_bed.h"

static void
a_card_is_described(void **state)
{
    struct accel accel = opened();
    struct accel_card card = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(listed(&accel), 2);
    assert_int_equal(accel_describe(&accel, U0, &card, &err), 0);
    assert_string_equal(card.model, "NVIDIA A100-SXM4-40GB");
    assert_string_equal(card.vendor, "nvidia");
    assert_string_equal(card.pci, "0000:41:00.0");
    assert_string_equal(card.driver, "570.124.06");
    assert_string_equal(card.serial, "1320021000000");
    assert_string_equal(card.firmware, "92.00.45.00.05 G506.0210.00.04");
    assert_string_equal(card.arch, "ampere sm_80");
    assert_string_equal(card.runtime, "CUDA 12.8");
    assert_string_equal(card.features, "bf16 mig p2p");
    assert_int_equal(card.memory_mib, 40960);
    assert_int_equal(card.compute_units, 98);
    assert_int_equal(card.numa, 1);
    /* One switch between the two. */
    assert_int_equal(card.link_count, 1);
    assert_string_equal(card.links[0].uuid, U1);
    assert_string_equal(card.links[0].kind, "pcie");
    assert_int_equal(card.links[0].level, 10);
    assert_int_equal(accel_describe(&accel, "GPU-none", &card, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    accel_close(&accel);
}

static void
a_reading_has_what_the_card_says(void **state)
{
    static const struct {
        enum accel_item item;
        int64_t value;
    } rows[] = {
        { ACCEL_MEMORY_TOTAL, 40960 }, { ACCEL_MEMORY_USED, 12 },
        { ACCEL_MEMORY_RESERVED, 600 }, { ACCEL_BAR_USED, 4 },
        { ACCEL_BUSY, 370 }, { ACCEL_MEMORY_BUSY, 110 },
        { ACCEL_POWER, 61000 }, { ACCEL_POWER_NOW, 65500 },
        { ACCEL_POWER_LIMIT, 400000 }, { ACCEL_POWER_MIN, 100000 },
        { ACCEL_POWER_DEFAULT, 400000 }, { ACCEL_ENERGY, 123456789 },
        { ACCEL_TEMPERATURE, 33 }, { ACCEL_TEMPERATURE_MEMORY, 41 },
        { ACCEL_MARGIN, 52 }, { ACCEL_SLOWDOWN, ACCEL_ABSENT },
        { ACCEL_CLOCK, 1410 }, { ACCEL_CLOCK_MEMORY, 1215 },
        { ACCEL_CLOCK_REASONS, 1 }, { ACCEL_ECC, 1 },
        { ACCEL_ECC_CORRECTED, 4 }, { ACCEL_ECC_CORRECTED_LIFE, 104 },
        { ACCEL_ECC_DRAM, 2 }, { ACCEL_ECC_SRAM, 7 },
        { ACCEL_PAGES_RETIRED, ACCEL_ABSENT }, { ACCEL_REMAP_FAILED, 0 },
        { ACCEL_RECOVERY, 0 }, { ACCEL_PCIE_WIDTH, 16 },
        { ACCEL_PCIE_REPLAYS, 2 }, { ACCEL_MODULE, 2 }, { ACCEL_SLOT, 7 },
        { ACCEL_LINKS, ACCEL_ABSENT }, { ACCEL_SLICED, 0 },
        { ACCEL_FIRMWARE_OWN, 1 }, { ACCEL_NUMA_OWN, 1 },
    };
    struct accel accel = opened();
    struct accel_reading reading;
    struct error err = { 0 };

    (void)state;
    world->cards[0].clock_reasons = 1;
    world->cards[0].ecc_corrected = 4;
    assert_int_equal(accel_read(&accel, U0, &reading, &err), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (reading.value[rows[i].item] != rows[i].value)
            fail_msg("%s is %lld", accel_item_text(rows[i].item),
                     (long long)reading.value[rows[i].item]);
    /* Activity lies between two samples. */
    assert_true(reading.value[ACCEL_UNITS_BUSY] == ACCEL_ABSENT);
    (void)usleep(160000);
    assert_int_equal(accel_read(&accel, U0, &reading, &err), 0);
    assert_int_equal(reading.value[ACCEL_UNITS_BUSY], 120);
    assert_int_equal(reading.value[ACCEL_DRAM_BUSY], 200);
    assert_int_equal(world->refused_words, 0);
    accel_close(&accel);
}

/* [N15] [N17]: the card's flags decide, its own action before them. */
static void
flags_of_the_card_decide_its_health(void **state)
{
    struct accel accel = opened();
    struct stub_card *card = &world->cards[0];

    (void)state;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_HEALTHY);
    card->remap_pending = 1;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_SUSPECT);
    card->banks_spent = 1;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_DEGRADED);
    card->remap_failed = 1;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_FAILED);
    assert_string_equal(health_of(&accel, U0).reason,
                        "memory rows could not be replaced: replace the card");
    card->recovery = 2;
    assert_string_equal(health_of(&accel, U0).reason,
                        "the card asks for a reboot of the node");
    /* [N10] A word that nobody knows degrades; it excuses nothing [N17]. */
    card->recovery = 9;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_FAILED);
    card->remap_failed = card->banks_spent = card->remap_pending = 0;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_DEGRADED);
    memset(&card->recovery, 0, 4);
    card->clock_reasons = 0x4;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_HEALTHY);
    card->clock_reasons = 0x80;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_SUSPECT);
    card->clock_reasons = 0;
    card->width = 8;
    assert_int_equal(health_of(&accel, U0).health, ACCEL_SUSPECT);
    assert_int_equal(health_of(&accel, U1).health, ACCEL_HEALTHY);
    accel_close(&accel);
}

/* [N5] */
static void
one_lost_card_hides_no_other(void **state)
{
    struct accel accel = { 0 };
    struct error err = { 0 };
    struct accel_card card = { 0 };

    (void)state;
    stub_fault(world, "nvmlDeviceGetHandleByIndex_v2", 0, NVML_GPU_IS_LOST);
    accel = opened();
    assert_int_equal(listed(&accel), 1);
    assert_int_equal(accel_describe(&accel, U1, &card, &err), 0);
    assert_int_equal(card.link_count, 0);
    assert_int_equal(health_of(&accel, U1).health, ACCEL_HEALTHY);
    accel_close(&accel);
}

/* [N7] */
static void
a_card_whose_slot_is_empty_has_failed(void **state)
{
    struct accel accel = opened();
    char path[320], away[320];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:42:00.0",
                   home);
    (void)snprintf(away, sizeof(away), "%s/away", home);
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(health_of(&accel, U1).health, ACCEL_FAILED);
    assert_string_equal(health_of(&accel, U1).reason,
                        "its slot 0000:42:00.0 on the bus is empty");
    assert_int_equal(health_of(&accel, U0).health, ACCEL_HEALTHY);
    assert_int_equal(rename(away, path), 0);
    accel_close(&accel);
}

/* [N23] [N24]: the order of cards changes, and a name means the same. */
static void
a_card_is_the_same_whatever_its_number(void **state)
{
    struct accel accel = opened();
    struct stub_card swap = world->cards[0];
    struct accel_card card = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(listed(&accel), 2);
    world->cards[0] = world->cards[1];
    world->cards[1] = swap;
    world->cards[0].used_mib = 777;
    assert_int_equal(listed(&accel), 2);
    assert_int_equal(accel_describe(&accel, U1, &card, &err), 0);
    assert_string_equal(card.pci, "0000:42:00.0");
    assert_int_equal(health_of(&accel, U1).memory_used_mib, 777);
    assert_int_equal(health_of(&accel, U0).memory_used_mib, 12);
    accel_close(&accel);
}

/* What is refused on all cards at once is not the cards' fault. */
static void
a_driver_that_refuses_all_cards_is_an_error_of_its_own(void **state)
{
    scoped_arena arena = arena_new();
    const char *const *uuids = NULL;
    struct error err = { 0 };
    struct accel accel = opened();
    size_t count = 0;

    (void)state;
    stub_fault(world, "nvmlDeviceGetHandleByIndex_v2", STUB_ALL,
               NVML_OPERATING_SYSTEM);
    assert_int_equal(accel_list(&accel, arena, &uuids, &count, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    accel_close(&accel);
    stub_fault(world, "nvmlInit_v2", STUB_ALL, NVML_LIBRARY_MISMATCH);
    assert_int_equal(accel_open(&accel, "nvml", home, home, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_true(err.help[0] != '\0');
}

/* --- processes --- */

static void
check_processes(struct accel *accel)
{
    struct accel_process list[ACCEL_PROCESSES_MAX];
    struct error err = { 0 };
    size_t count = 0;

    assert_int_equal(accel_processes(accel, U0, list, &count, &err), 0);
    assert_int_equal(count, 4);
    assert_int_equal(list[0].pid, 4001);
    assert_int_equal(list[0].used_mib, 100);
    assert_int_equal(list[1].pid, 4002);
    assert_int_equal(list[1].used_mib, 200);
    assert_int_equal(list[1].instance, 3);
    assert_int_equal(list[2].pid, 4003);
    assert_int_equal(list[3].pid, 4004);
    assert_int_equal(list[3].used_mib, 50);
    assert_true(list[3].shared);
    assert_false(list[0].shared);
    assert_int_equal(accel_processes(accel, U1, list, &count, &err), 0);
    assert_int_equal(count, 0);
}

/* The same list, whatever form of it the driver has: records of 24 bytes, of
 * 32 under the same name (branch 535), the older call, and the one that names
 * its own form. */
static void
processes_are_found_in_every_form_of_the_list(void **state)
{
    struct accel accel = opened();

    (void)state;
    add_process(0, 4001, 100, NVML_WHOLE, 0);
    add_process(0, 4002, 200, 3, 0);
    add_process(0, 4003, 10, NVML_WHOLE, 1);
    add_process(0, 4004, 50, NVML_WHOLE, 2);
    check_processes(&accel);
    world->wide = 1;
    check_processes(&accel);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = { "Compute", "Graphics",
                                             "MPSCompute" };
        char call[80];

        (void)snprintf(call, sizeof(call),
                       "nvmlDeviceGet%sRunningProcesses_v3", names[i]);
        stub_fault(world, call, STUB_ALL, NVML_FUNCTION_NOT_FOUND);
    }
    check_processes(&accel);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = { "Compute", "Graphics",
                                             "MPSCompute" };
        char call[80];

        (void)snprintf(call, sizeof(call),
                       "nvmlDeviceGet%sRunningProcesses_v2", names[i]);
        stub_fault(world, call, STUB_ALL, NVML_FUNCTION_NOT_FOUND);
    }
    check_processes(&accel);
    accel_close(&accel);
}

static void
accounts_name_also_those_that_have_ended(void **state)
{
    struct accel accel = opened();
    struct accel_usage list[ACCEL_PROCESSES_MAX];
    struct stub_card *card = &world->cards[0];
    struct error err = { 0 };
    size_t count = 0;

    (void)state;
    card->account_count = 2;
    card->accounts[0].pid = 11;
    card->accounts[0].running = 1;
    card->accounts[0].percent = 5;
    card->accounts[1].pid = 12;
    card->accounts[1].percent = 44;
    card->accounts[1].peak = 3ULL << 30;
    card->accounts[1].time_ms = 9000;
    assert_int_equal(accel_usage(&accel, U0, list, &count, &err), 0);
    assert_int_equal(card->accounting, 1);
    assert_int_equal(count, 2);
    /* Of one that runs the latest sample is known. */
    assert_int_equal(list[0].busy_permille, 830);
    assert_int_equal(list[1].busy_permille, 440);
    assert_int_equal(list[1].memory_peak_mib, 3072);
    assert_int_equal(list[1].time_ms, 9000);
    assert_false(list[1].running);
    /* The next tenant reads nothing of it. */
    card->power_limit = 200000;
    card->compute_mode = 3;
    assert_int_equal(accel_settle(&accel, U0, &err), 0);
    assert_int_equal(card->account_count, 0);
    assert_int_equal(card->power_limit, 400000);
    assert_int_equal(card->compute_mode, 0);
    accel_close(&accel);
}

/* --- events, links, fabric --- */

static void
add_event(int card, unsigned long long type, unsigned long long data,
          unsigned instance)
{
    world->events[world->event_count++] = (struct stub_event){
        .card = card, .type = type, .data = data, .instance = instance,
        .compute = instance == NVML_WHOLE ? NVML_WHOLE : 0
    };
}

/* [N40] of the first event: it is the whole card's. */
static void
events_name_the_card_and_the_slice(void **state)
{
    struct accel_event list[ACCEL_EVENTS_MAX];
    struct accel accel = opened();
    struct error err = { 0 };
    size_t count = 9;

    (void)state;
    assert_int_equal(accel_events(&accel, 0, list, &count, &err), 0);
    assert_int_equal(count, 0);
    add_event(1, 0x8, 79, NVML_WHOLE);
    add_event(0, 0x8, 31, 4);
    add_event(0, 0x8000, 0, NVML_WHOLE);
    assert_int_equal(accel_events(&accel, 0, list, &count, &err), 0);
    assert_int_equal(count, 3);
    assert_int_equal(list[0].kind, ACCEL_EVENT_XID);
    assert_string_equal(list[0].uuid, U1);
    assert_int_equal(list[0].number, 79);
    assert_int_equal(list[0].instance, -1);
    assert_string_equal(list[1].uuid, U0);
    assert_int_equal(list[1].instance, 4);
    assert_int_equal(list[1].compute, 0);
    assert_int_equal(list[2].kind, ACCEL_EVENT_RECOVERY);
    stub_fault(world, "nvmlEventSetWait_v2", STUB_ALL, NVML_GPU_IS_LOST);
    assert_int_equal(accel_events(&accel, 0, list, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].kind, ACCEL_EVENT_LOST);
    assert_string_equal(list[0].uuid, "");
    accel_close(&accel);
}

static void
cards_with_a_link_each_to_each_are_an_island(void **state)
{
    struct accel_card cards[4] = { 0 };
    struct accel accel;
    struct error err = { 0 };

    (void)state;
    stub_fill(world, 4);
    for (int i = 0; i < 4; i++) {
        world->cards[i].links[0] = i ^ 1;
        world->cards[i].links[1] = i ^ 1;
    }
    /* 3 is linked to 0 also, which makes no island of three. */
    world->cards[3].links[2] = 0;
    world->cards[0].links[2] = 3;
    accel = opened();
    for (int i = 0; i < 4; i++)
        assert_int_equal(accel_describe(&accel, world->cards[i].uuid,
                                        &cards[i], &err), 0);
    assert_string_equal(cards[0].links[0].kind, "nvlink");
    assert_int_equal(cards[0].links[0].lanes, 2);
    accel_islands(cards, 4);
    assert_int_equal(cards[0].island, cards[1].island);
    assert_int_equal(cards[2].island, cards[3].island);
    assert_int_not_equal(cards[0].island, cards[2].island);
    accel_close(&accel);
}

/* Ready is: complete, with success, in a domain.  [N13]: one that was not
 * started is no fault. */
static void
a_fabric_s_domain_is_its_cluster_and_clique(void **state)
{
    struct accel accel = opened();
    struct accel_card card = { 0 };
    struct accel_reading reading;
    struct error err = { 0 };

    (void)state;
    world->cards[0].fabric_state = 1;
    world->cards[0].fabric_cluster[0] = 0xAB;
    world->cards[0].fabric_clique = 7;
    assert_int_equal(accel_describe(&accel, U0, &card, &err), 0);
    assert_string_equal(card.domain, "");
    assert_int_equal(health_of(&accel, U0).health, ACCEL_HEALTHY);
    world->cards[0].fabric_state = 3;
    assert_int_equal(accel_describe(&accel, U0, &card, &err), 0);
    assert_string_equal(card.domain, "ab000000000000000000000000000000/7");
    assert_int_equal(accel_read(&accel, U0, &reading, &err), 0);
    assert_int_equal(reading.value[ACCEL_FABRIC_HEALTH], 1);
    /* An older library knows the second form only, and says so. */
    world->fabric = 2;
    assert_int_equal(accel_describe(&accel, U0, &card, &err), 0);
    assert_string_equal(card.domain, "ab000000000000000000000000000000/7");
    assert_true(world->refused_words > 0);
    stub_fault(world, "nvmlDeviceGetGpuFabricInfoV", STUB_ALL,
               NVML_FUNCTION_NOT_FOUND);
    assert_int_equal(accel_describe(&accel, U0, &card, &err), 0);
    assert_string_equal(card.domain, "ab000000000000000000000000000000/7");
    accel_close(&accel);
}

/* [N6]: what the bus has and the library does not list is counted. */
static void
the_survey_counts_what_the_library_left_out(void **state)
{
    struct accel accel = opened();
    struct accel_survey survey;
    struct error err = { 0 };

    (void)state;
    make_text("/sys/bus/pci/devices/0000:41:00.0/vendor", "0x10de\n");
    make_text("/sys/bus/pci/devices/0000:41:00.0/class", "0x030200\n");
    make_text("/sys/bus/pci/devices/0000:42:00.0/vendor", "0x10de\n");
    make_text("/sys/bus/pci/devices/0000:42:00.0/class", "0x030200\n");
    stub_fault(world, "nvmlDeviceGetHandleByIndex_v2", 1, NVML_GPU_IS_LOST);
    assert_int_equal(listed(&accel), 1);
    assert_int_equal(accel_survey(&accel, &survey, &err), 0);
    assert_int_equal(survey.listed, 1);
    assert_int_equal(survey.on_bus, 2);
    assert_string_equal(survey.runtime, "CUDA 12.8");
    assert_string_equal(survey.branch, "r570_00");
    assert_int_equal(survey.excluded, 1);
    assert_string_equal(survey.excluded_pci[0], "0000:e1:00.0");
    accel_close(&accel);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_card_is_described, fresh),
        cmocka_unit_test_setup(a_reading_has_what_the_card_says, fresh),
        cmocka_unit_test_setup(flags_of_the_card_decide_its_health, fresh),
        cmocka_unit_test_setup(one_lost_card_hides_no_other, fresh),
        cmocka_unit_test_setup(a_card_whose_slot_is_empty_has_failed, fresh),
        cmocka_unit_test_setup(a_card_is_the_same_whatever_its_number, fresh),
        cmocka_unit_test_setup(
            a_driver_that_refuses_all_cards_is_an_error_of_its_own, fresh),
        cmocka_unit_test_setup(processes_are_found_in_every_form_of_the_list,
                               fresh),
        cmocka_unit_test_setup(accounts_name_also_those_that_have_ended,
                               fresh),
        cmocka_unit_test_setup(events_name_the_card_and_the_slice, fresh),
        cmocka_unit_test_setup(cards_with_a_link_each_to_each_are_an_island,
                               fresh),
        cmocka_unit_test_setup(a_fabric_s_domain_is_its_cluster_and_clique,
                               fresh),
        cmocka_unit_test_setup(the_survey_counts_what_the_library_left_out,
                               fresh),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
