/* The file of those who may come in, and the header they come with: whatever
 * they hold, what is read is within its bounds. */
#include "base/obj.h"
#include "tsd/auth/auth_text.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(data, size)
{
    struct auth_table *t = NULL;
    struct auth_credentials claim;
    struct error e;

    if (auth_table_parse(slice_of(data, size), &t, &e) == ST_OK) {
        for (size_t i = 0; i < t->len; i++) {
            const struct auth_entry *x = &t->entries[i];

            INSIST(auth_name_is_fine(slice_str(x->name)));
            INSIST(x->rights > 0 && x->rights <= 7);
            INSIST(x->hash == NULL || auth_hash_is_fine(slice_str(x->hash)));
        }
        auth_table_free(&t);
    }
    INSIST(t == NULL);
    if (auth_credentials_parse(slice_of(data, size), &claim)) {
        INSIST(claim.secret.size > 0 && claim.secret.size <= AUTH_SECRET_MAX);
        INSIST(claim.is_token || claim.name.size > 0);
        INSIST(claim.name.size <= AUTH_NAME_MAX);
    }
    return 0;
}
