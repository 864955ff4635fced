# Writes the settings of tsd/config/settings.def as a configuration file, or with
# -v form=man as scdoc for halite.conf(5).  Each SETTING is one line there:
# tests/dist/install.sh compares with what the program says.

# Cuts the next argument off 'rest': the text of a string, or a bare word.
function take(  out) {
    sub(/^[ ,]+/, "", rest)
    if (substr(rest, 1, 1) != "\"") {
        match(rest, /^[^,)]*/)
        out = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
        return out
    }
    match(rest, /^"([^"\\]|\\.)*"/)
    out = substr(rest, 2, RLENGTH - 2)
    rest = substr(rest, RLENGTH + 1)
    gsub(/\\"/, "\"", out)
    return out
}

# Comment lines of at most 78 columns.
function comment(text,  words, n, i, line) {
    n = split(text, words, " ")
    line = "#"
    for (i = 1; i <= n; i++) {
        if (length(line) + 1 + length(words[i]) > 78 && line != "#") {
            print line
            line = "#"
        }
        line = line " " words[i]
    }
    print line
}

function escape(text) {
    gsub(/[\\_*~#`<>]/, "\\\\&", text)
    return text
}

BEGIN {
    if (form != "man") {
        print "# Settings of the Halite time-series database, halite.conf(5)."
        print "# Each is here with its default: take the '#' away to change one, then"
        print "# restart the service.  The form is OpenTSDB's: key = value."
    }
}

# The headings of settings.def.
/^\/\* -- / && form != "man" && !/without effect/ {
    gsub(/^\/\* -- | -*\*\/$/, "")
    print "\n\n# -- " $0 " --"
}

/^SETTING\(/ {
    rest = substr($0, 9)
    name = take()
    value = take()
    type = take()
    unit = type == "BOOL" ? "true, false" : take()
    if (type == "BOOL")
        take()
    low = take()
    high = take()
    text = take()
    if (value == "NULL")
        value = ""
    gsub(/[|]/, ", ", unit)
    gsub(/`/, "", text)
    if (form == "man") {
        print "*" escape(name) "*" (value == "" ? "" : " = " escape(value))
        print "\t" escape(text) (unit == "" ? "" : "  (" escape(unit) ")")
        if (type == "INT" || type == "BYTES")
            print "\tFrom " low " to " high "."
        print ""
        next
    }
    print ""
    comment(text (unit == "" ? "" : " (" unit ")"))
    if (name == "tsd.network.bind") {
        comment("Here: this machine only. Before others may reach it, read the page " \
                "on security (docs/SECURITY.md): halite.auth.file, halite.tls.cert.")
        print name " = 127.0.0.1"
        print "#" name " = " value
    } else
        print "#" name " =" (value == "" ? "" : " " value)
}
