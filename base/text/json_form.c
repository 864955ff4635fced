#include "base/text/json_form.h"

#include <stdbool.h>

struct json_form
json_form(struct slice text)
{
    struct json_form f = { .values = 1 };
    size_t open = 0;
    bool in_string = false;

    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];

        if (in_string) {
            if (c == '\\')
                i++;
            in_string = c != '"';
            continue;
        }
        in_string = c == '"';
        if (c == '{' || c == '[')
            f.documents += open++ == 0;
        else if ((c == '}' || c == ']') && open > 0)
            open--;
        f.values += c == '{' || c == '[' || c == ',' || c == ':';
        f.depth = open > f.depth ? open : f.depth;
    }
    return f;
}
