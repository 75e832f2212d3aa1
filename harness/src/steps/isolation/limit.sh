# Seconds since the system has started; nothing here starts a process, so that it works where none can be started.
now() { read -r t rest </proc/uptime; t=${t%%.*}; }
hold() { now; end=$((t + $1)); while [ "$t" -lt "$end" ]; do now; done; }
# Starts so many processes that stay, each of which tells of itself by a letter.
fill() {
    mkfifo "$1"
    sh -c 'i=0; while [ $i -lt "$2" ]; do (printf x; read -r y <"$1") & i=$((i+1)); done' sh "$1" "$2" 2>/dev/null
    echo
}
# Lets all of them go, also those that come late.
release() { now; end=$((t + 2)); while [ "$t" -lt "$end" ]; do : <>"$1"; now; done; rm -f "$1"; }
# Holds so many mebibytes for so many seconds.
take() { awk 'BEGIN { s = "x"; while (length(s) < 1048576) s = s s; for (i = 0; i < '"$1"'; i++) a[i] = s i; if ('"$2"') system("sleep '"$2"'") }'; }
