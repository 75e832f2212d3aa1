# Read by a POSIX shell before the text of a command: brings the session's exported variables back, and has them saved at
# the end. It needs no program, and prints nothing. Lists of names are read by `eval`, which no IFS takes apart.
__herm_state=$HERM_SESSION_STATE __herm_new=$HERM_SESSION_NEW __herm_own=$HERM_SESSION_OWN
__herm_found=$HERM_SESSION_NAMES __herm_cwd=$HERM_SESSION_CWD __herm_began=$PWD __herm_gone='' __herm_stays=''
__herm_alias=$HERM_SESSION_ALIAS
unset HERM_SESSION_STATE HERM_SESSION_NEW HERM_SESSION_KIND HERM_SESSION_CWD HERM_SESSION_OWN HERM_SESSION_NAMES \
    HERM_SESSION_ALIAS
# From here on a state that is not written is a loss.
{ printf '# untouched\n' > "$__herm_new"; } 2> /dev/null

__herm_remember() { eval "__herm_was_$1=\${$1-}"; }
# What is this command's own wins, and the session keeps its own for the next: a value, or that there is none.
__herm_put_aside() {
    eval "__herm_given_$1=\${$1-}"
    unset "$1"
}
__herm_put_back() {
    eval "__herm_set=\${$1+x} __herm_value=\${$1-} __herm_given=\$__herm_given_$1"
    case $__herm_set in x) eval "__herm_kept_$1=\$__herm_value" ;; esac
    export "$1=$__herm_given"
    unset "__herm_given_$1"
}
__herm_take_away() {
    case " $__herm_own " in
        *" $1 "*) __herm_stays="$__herm_stays $1" ;;
        *) unset "$1" ;;
    esac
}

# Only what differs from what the command found is left: so neither secrets nor the sandbox's own variables are kept.
__herm_compare() {
    eval "__herm_set=\${$1+x} __herm_value=\${$1-} __herm_was=\${__herm_was_$1-}"
    case $__herm_set in
        x) case $__herm_value in "$__herm_was") command unset "$1" ;; esac ;;
        *) __herm_gone="$__herm_gone $1" ;;
    esac
}
__herm_hand_on() {
    # A constant cannot be kept apart from what the session keeps; nothing is saved then.
    command unset "$1" || __herm_whole=''
    eval "__herm_set=\${__herm_kept_$1+x} __herm_value=\${__herm_kept_$1-}"
    case $__herm_set in x) export "$1=$__herm_value" ;; esac
}
# Nothing of the text runs behind this in its process, so that names and options need not be as they were. What cannot be
# written as a whole gets no last line.
__herm_write() {
    set +aefuvxC
    unset -f command printf
    # A limit on the size of files is an error of writing then, and no end of the command.
    trap '' XFSZ
    __herm_whole=${__herm_new:+yes} __herm_gone=$__herm_stays
    case $PWD in "$__herm_began") ;; *) __herm_cwd=$PWD ;; esac
    eval "for __herm_name in $__herm_found; do __herm_compare \"\$__herm_name\"; done"
    eval "for __herm_name in $__herm_own; do __herm_hand_on \"\$__herm_name\"; done"
    command unset PWD SHLVL _
    case $__herm_whole in
        yes)
            command printf %s "$__herm_cwd" > "$__herm_new.cwd" && {
                export -p && command printf "__herm_gone='%s'\n# complete\n" "$__herm_gone"
            } > "$__herm_new"
            ;;
    esac
}
# A trap of the text's own on EXIT is still to run, so the saving is done by a copy of this process. Whatever fails in it,
# by a constant, say, ends neither this process nor the command.
__herm_save() {
    case ${__herm_action+x} in
        x) (__herm_write) || : ;;
        *)
            unset -f command
            command eval __herm_write || :
            ;;
    esac
    return "$1"
}
# The text's own trap on EXIT runs behind the saving, with the status that it would have seen; errexit does not see it.
__herm_first='{ __herm_save "$?" && :; } 2> /dev/null
'

# What the text calls trap, which is a special builtin, so that an alias can take its place, and no function. In here it is
# what it always is.
__herm_trap() {
    # The number of this process, which in a subshell is not `$$`. A subshell has none of the traps, and needs no saving.
    for __herm_name in /proc/self/task/*; do :; done
    case $__herm_name in
        */"$$") ;;
        *)
            __herm_trap_in_subshell "$@"
            return
            ;;
    esac
    __herm_shows=''
    case ${1-} in
        --) shift ;;
        -?*)
            # Most shells know no options, and end with one.
            if ! (trap "$@") > /dev/null 2>&1; then
                trap "$@"
                return
            fi
            __herm_shows=yes
            ;;
    esac
    case $# in 0) __herm_shows=yes ;; esac
    # Ours is out of the way for as long as the text sees to its traps.
    case ${__herm_action+x} in
        x) trap -- "$__herm_action" EXIT ;;
        *) trap - EXIT ;;
    esac
    __herm_result=0
    case $__herm_shows in
        yes) trap "$@" || __herm_result=$? ;;
        *) __herm_set_traps "$@" || __herm_result=$? ;;
    esac
    trap -- "$__herm_first${__herm_action-}" EXIT
    return "$__herm_result"
}
# A shell that shows its traps in `$(trap)` knows that by the word, which the alias is not.
__herm_trap_in_subshell() {
    case $#${__herm_shown:+x} in
        0x)
            unset -f printf
            printf '%s\n' "$__herm_shown"
            ;;
        *)
            __herm_shown=
            trap "$@"
            ;;
    esac
}
__herm_set_traps() {
    # A number or a lone word in the place of the action is a condition, and all of them are reset.
    __herm_wanted=-
    case $1 in
        [0-9] | [0-9][0-9]) ;;
        *)
            case $# in
                1) ;;
                *)
                    __herm_wanted=$1
                    shift
                    ;;
            esac
            ;;
    esac
    __herm_code=0
    for __herm_name in "$@"; do
        if trap -- "$__herm_wanted" "$__herm_name"; then
            case $__herm_name.$__herm_wanted in
                0.- | 00.- | [Ee][Xx][Ii][Tt].- | [Ss][Ii][Gg][Ee][Xx][Ii][Tt].-) unset __herm_action ;;
                0.* | 00.* | [Ee][Xx][Ii][Tt].* | [Ss][Ii][Gg][Ee][Xx][Ii][Tt].*) __herm_action=$__herm_wanted ;;
            esac
        else
            __herm_code=$?
            # Not every shell goes on behind a condition that it does not know.
            (trap 'exit 0' NONE EXIT && exit 1 || exit 1) 2> /dev/null || break
        fi
    done
    __herm_shown=$(trap)
    return "$__herm_code"
}
# Takes away what the text wants taken away, but for ours.
__herm_unalias() {
    __herm_result=0
    command unalias "$@" || __herm_result=$?
    __herm_cover
    return "$__herm_result"
}
__herm_cover() {
    if alias trap || alias trap='\__herm_run trap'; then
        unalias() { __herm_run unalias "$@"; }
    fi > /dev/null 2>&1
}
# Calls one of these, whatever the text's options are.
__herm_run() {
    case $- in
        *[afx]*) { set -- "$-" "$@" && set +afx; } 2> /dev/null ;;
        *) set -- '' "$@" ;;
    esac
    __herm_options=$1 __herm_called=__herm_$2 __herm_status=0
    shift 2
    "$__herm_called" "$@" || __herm_status=$?
    case $__herm_options in *f*) set -f ;; esac
    case $__herm_options in *a*) set -a ;; esac
    case $__herm_options in *x*) { set -x && return "$__herm_status"; } 2> /dev/null ;; esac
    return "$__herm_status"
}

trap -- "$__herm_first" EXIT
eval "for __herm_name in $__herm_found; do __herm_remember \"\$__herm_name\"; done"
if [ -r "$__herm_state" ]; then
    eval "for __herm_name in $__herm_own; do __herm_put_aside \"\$__herm_name\"; done"
    . "$__herm_state" 2> /dev/null
    eval "for __herm_name in $__herm_own; do __herm_put_back \"\$__herm_name\"; done"
    eval "for __herm_name in $__herm_gone; do __herm_take_away \"\$__herm_name\"; done"
fi
case $__herm_alias in trap) __herm_cover ;; esac
unset __herm_name __herm_set __herm_value __herm_given __herm_gone __herm_alias
