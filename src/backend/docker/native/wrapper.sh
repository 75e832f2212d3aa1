# Becomes the command, where nothing but a POSIX shell is there. What comes before it is told on standard error, in one
# line that begins with a word which nobody else knows: the number of this process, or why there is no command.
#
# Words: the secret word, the directory, how many variables follow, these, how many of the words are variables that no shell
# holds and env(1) has to pass on, how many words follow that have to be read, these.
# A word that has to be read begins with "=" and is as it stands, or with "%" and is as printf(1) reads it. Where no word of
# the command has to be read, their number is "all", and they follow as they are.
__word=$1 __count=0
__tell() { printf '%s %s\n' "$__word" "$*" >&2; }
__refuse() { __tell no "$@"; exit 125; }
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
    __tell yes $$
    exec env "$@"
fi
__tell yes $$
shift
# By its path: some shells have programs of their own, which they would take for it.
exec "$__found" "$@"
