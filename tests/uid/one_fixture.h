/* The fixture that all cases of a file work on, open when they begin:
 *
 *     TEST_MAIN_WITH(setup, teardown, "uid", ...) */
#pragma once

#include "tests/uid/fixture.h"

static struct fixture f;

static inline void
teardown(void)
{
    fixture_free(&f);
}

/* Another one in its place. */
static inline void
setup_with(struct fixture options)
{
    teardown();
    f = options;
    fixture_open(&f);
}

static inline void
setup(void)
{
    setup_with((struct fixture){ .store_options.layout = layout_default });
}

static inline void
setup_on_disk(void)
{
    teardown();
    f = fixture_new_on_disk();
}
