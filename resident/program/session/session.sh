# Read by a POSIX shell before the text of a command: brings the session's exported variables back, and has them saved at
# the end, unless the text sets a trap on EXIT of its own. What is this command's own is not kept.
__herm_state=$HERM_SESSION_STATE __herm_new=$HERM_SESSION_NEW __herm_own=$HERM_SESSION_OWN
__herm_cwd=$HERM_SESSION_CWD __herm_began=$PWD
unset HERM_SESSION_STATE HERM_SESSION_NEW HERM_SESSION_KIND HERM_SESSION_CWD HERM_SESSION_OWN
__herm_save() {
    set +eufC
    # A limit on the size of files is an error of writing then, and no end of the command.
    trap '' XFSZ
    {
        if [ "$PWD" != "$__herm_began" ]; then __herm_cwd=$PWD; fi
        printf %s "$__herm_cwd" > "$__herm_new.cwd"
        (
            IFS=' '
            for __herm_name in $__herm_own; do unset "$__herm_name"; done
            unset PWD
            export -p
            # What the session knows of a variable that is this command's own, it knows for the next.
            for __herm_name in $__herm_own; do
                eval "if [ \"\${__herm_kept_$__herm_name+x}\" ]; then export $__herm_name=\"\$__herm_kept_$__herm_name\"; export -p; fi"
            done
            printf '# complete\n'
        ) > "$__herm_new"
    } 2> /dev/null
    trap - XFSZ
    return "$1"
}
trap '__herm_save $?' EXIT
if [ -r "$__herm_state" ]; then
    IFS=' '
    for __herm_name in $__herm_own; do eval "__herm_given_$__herm_name=\$$__herm_name; unset $__herm_name"; done
    unset IFS
    . "$__herm_state"
    IFS=' '
    for __herm_name in $__herm_own; do
        eval "[ -z \"\${$__herm_name+x}\" ] || __herm_kept_$__herm_name=\$$__herm_name"
        eval "export $__herm_name=\"\$__herm_given_$__herm_name\""
    done
    unset IFS __herm_name
fi
