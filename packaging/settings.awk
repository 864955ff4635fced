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

# Lines of at most 'columns', each with 'begin' in front.
function wrap(text, begin, columns,  words, n, i, line) {
    n = split(text, words, " ")
    line = begin
    for (i = 1; i <= n; i++) {
        if (form == "man" && words[i] ~ /^[-.|]/) # no list, no table
            words[i] = "\\" words[i]
        if (line != begin && length(line) + length(words[i]) > columns) {
            print line
            line = begin
        }
        line = line (line == begin ? "" : " ") words[i]
    }
    print line
}

function comment(text) {
    wrap(text, "# ", 78)
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

# OpenTSDB's, at the end of the man page.
/^ACCEPTED\(/ && form == "man" {
    rest = substr($0, 10)
    accepted = accepted (accepted == "" ? "" : ", ") escape(take())
}
END {
    if (form == "man") {
        print "Settings of OpenTSDB that are accepted without effect:"
        wrap(accepted ".", "", 56)
    }
}

# The headings of settings.def.
/^\/\* -- / && form != "man" && !/without effect/ {
    gsub(/^\/\* -- | -+ \*\/$/, "")
    print "\n\n# -- " $0 " --"
}

/^SETTING\(/ {
    rest = substr($0, 9)
    take() # the member of struct settings
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
        print "*" escape(name) "*"
        wrap(escape(text), "\t", 58)
        print ""
        wrap("Default: " (value == "" ? "none" : escape(value)) ".  " \
             (unit == "" ? "" : "Value: " escape(unit)) \
             (type ~ /^(INT|COUNT|BYTES)$/ ? ", from " low " to " high "." : unit == "" ? "" : "."), "\t", 58)
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
