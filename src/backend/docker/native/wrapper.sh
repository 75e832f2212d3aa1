# Becomes the command, where nothing but a POSIX shell is there. Before it comes one line that begins with a word which nobody
# else knows: on both streams the number of this process and how many were killed for lack of memory in its sandbox until
# now, or on standard error why there is no command.
#
# Words: the secret word, the directory, how many variables follow, these, how many of the words are variables that no shell
# holds and env(1) has to pass on, how many words follow that have to be read, these.
# A word that has to be read begins with "=" and is as it stands, or with "%" and is as printf(1) reads it. Where no word of
# the command has to be read, their number is "all", and they follow as they are.
__word=$1 __count=0
__refuse() { printf '%s no %s\n' "$__word" "$*" >&2; exit 125; }
__begin() {
    __killed=-
    for __file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
        [ -r "$__file" ] || continue
        while read -r __name __value; do
            if [ "$__name" = oom_kill ]; then __killed=$__value; fi
        done <"$__file"
    done
    printf '%s yes %s %s\n' "$__word" $$ "$__killed"
    printf '%s yes %s %s\n' "$__word" $$ "$__killed" >&2
}
__read() {
    case $1 in
        '='*) __value=${1#=} ;;
        *) __value=$(printf '%b.' "${1#%}"); __value=${__value%.} ;;
    esac
}
__read "$2"; __cwd=$__value; __variables=$3; shift 3
while [ "$__count" -lt "$__variables" ]; do
    __read "$1"; export "${__value%%=*}=${__value#*=}"; shift; __count=$((__count + 1))
done
__odd=$1 __left=$2; shift 2
if [ "$__left" != all ]; then
    while [ "$__left" -gt 0 ]; do
        __read "$1"; shift; set -- "$@" "$__value"; __left=$((__left - 1))
    done
fi
# What is above a link is above where it leads to; else the name that was given stands in PWD.
case $__cwd in *..*) __how=-P ;; *) __how=-L ;; esac
if ! cd "$__how" -- "$__cwd" 2>/dev/null; then
    if [ -d "$__cwd" ]; then __refuse cwd_denied
    elif [ -e "$__cwd" ] || [ -L "$__cwd" ]; then __refuse cwd_not_a_directory
    else __refuse cwd_not_found; fi
fi
__look() {
    if [ -f "$1" ] && [ -x "$1" ]; then __found=$1; return 0; fi
    if [ -e "$1" ]; then __denied=$1; fi
    return 1
}
__found='' __denied=''
eval "__program=\${$((__odd + 1))}"
case $__program in
    */*) __look "$__program" || : ;;
    *)
        IFS=:
        for __directory in $PATH; do __look "${__directory:-.}/$__program" && break; done
        unset IFS ;;
esac
if [ -z "$__found" ]; then
    if [ -n "$__denied" ]; then __refuse program_denied "$__denied"; else __refuse program_not_found; fi
fi
if [ "$__odd" -gt 0 ]; then
    command -v env >/dev/null || __refuse no_env
    __begin
    exec env "$@"
fi
shift
__begin
# A program sees the name that it was called by, for which the shell has to look it up itself. One that has programs of its
# own would take them for it: there, and where the name looks like an option, the path is what is run.
case $__program in
    */* | -*) ;;
    *)
        if ! PATH=/.herm command -v cat >/dev/null 2>&1; then
            exec "$__program" "$@"
        elif (exec -a sh /bin/sh -c :) >/dev/null 2>&1; then
            exec -a "$__program" "$__found" "$@"
        fi ;;
esac
exec "$__found" "$@"
