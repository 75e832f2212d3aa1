# Read by a POSIX shell before the text of a command: brings the session's exported variables back, and has them saved at
# the end, unless the text sets a trap on EXIT of its own. What the caller gives for one command is not kept.
__herm_state=$HERM_SESSION_STATE __herm_new=$HERM_SESSION_NEW __herm_given=$HERM_SESSION_GIVEN
unset HERM_SESSION_STATE HERM_SESSION_NEW HERM_SESSION_KIND HERM_SESSION_GIVEN
__herm_save() {
    {
        printf %s "$PWD" > "$__herm_new.cwd"
        (
            IFS=' '
            set +euf
            for __herm_name in $__herm_given; do unset "$__herm_name"; done
            unset PWD OLDPWD
            export -p
            printf '# complete\n'
        ) > "$__herm_new"
    } 2> /dev/null
    return "$1"
}
trap '__herm_save $?' EXIT
if [ -r "$__herm_state" ]; then
    __herm_saved=
    IFS=' '
    for __herm_name in $__herm_given; do eval "__herm_saved_$__herm_name=\$$__herm_name"; done
    unset IFS
    . "$__herm_state"
    IFS=' '
    for __herm_name in $__herm_given; do eval "export $__herm_name=\"\$__herm_saved_$__herm_name\""; done
    unset IFS __herm_name
fi
