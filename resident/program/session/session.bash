# Read by bash before the text of a command (BASH_ENV): brings the session's state back, and has it saved at the end. It
# prints nothing, needs no program, and survives what the text does to options, traps and names.
__herm_state=$HERM_SESSION_STATE __herm_new=$HERM_SESSION_NEW __herm_kind=$HERM_SESSION_KIND
__herm_cwd=$HERM_SESSION_CWD __herm_began=$PWD __herm_own=" $HERM_SESSION_OWN "
if [[ ${HERM_SESSION_BASH_ENV+x} ]]; then BASH_ENV=$HERM_SESSION_BASH_ENV; else unset -v BASH_ENV; fi
unset -v HERM_SESSION_STATE HERM_SESSION_NEW HERM_SESSION_KIND HERM_SESSION_CWD HERM_SESSION_OWN HERM_SESSION_BASH_ENV
declare -A __herm_before=() __herm_kept=() __herm_stays=()
for __herm_name in $(compgen -e); do __herm_before[$__herm_name]=${!__herm_name}; done

# What is this command's own wins, and the session keeps its own for the next: a value, or that there is none.
__herm_set() {
    __herm_kept[$1]=$2
    [[ $__herm_own == *" $1 "* ]] || builtin export "$1=$2"
}
__herm_unset() { if [[ $__herm_own == *" $1 "* ]]; then __herm_stays[$1]=; else builtin unset -v "$1"; fi; }

# Writes what differs from what the command started with: so neither secrets nor the sandbox's own variables are kept. It
# starts no process, for which there may be no room. What cannot be written as a whole gets no last line.
__herm_save() {
    if [[ $BASHPID != "$$" ]]; then return "$1"; fi
    builtin local -
    builtin set +aefnuvx +o noclobber +o posix
    builtin enable alias compgen declare export local mapfile printf return set trap || return "$1"
    # A limit on the size of files is an error of writing then, and no end of the command.
    builtin trap '' XFSZ
    if [[ $PWD != "$__herm_began" ]]; then __herm_cwd=$PWD; fi
    [[ $__herm_new ]] && builtin printf %s "$__herm_cwd" > "$__herm_new.cwd" && __herm_write
    builtin trap - XFSZ
    builtin return "$1"
}
__herm_write() {
    builtin local __herm_name __herm_value __herm_part=0 __herm_whole=yes
    builtin local -a __herm_lines __herm_names __herm_functions
    {
        builtin compgen -e
        builtin printf '/\n'
        builtin declare -Fp
        builtin printf '/\n'
    } > "$__herm_new"
    builtin mapfile -t __herm_lines < "$__herm_new" || builtin return
    for __herm_name in "${__herm_lines[@]}"; do
        case $__herm_part.$__herm_name in
            *./) __herm_part=$((__herm_part + 1)) ;;
            0.*) __herm_names+=("$__herm_name") ;;
            *) __herm_functions+=("$__herm_name") ;;
        esac
    done
    [[ $__herm_part == 2 ]] || builtin return
    {
        for __herm_name in "${__herm_names[@]}"; do
            if [[ $__herm_name == POSIXLY_CORRECT ]]; then __herm_part=last; else __herm_variable "$__herm_name"; fi
        done
        for __herm_name in "${!__herm_before[@]}"; do
            case $__herm_name in PWD | OLDPWD | SHLVL | _ | BASHOPTS | SHELLOPTS) continue ;; esac
            if [[ ! ${!__herm_name+x} ]] ||
                [[ ${__herm_stays[$__herm_name]+x} && ${!__herm_name} == "${__herm_before[$__herm_name]}" ]]; then
                builtin printf '__herm_unset %s\n' "$__herm_name"
            fi
        done
        if [[ $__herm_kind == shell ]]; then
            for __herm_value in "${__herm_functions[@]}"; do
                __herm_name=${__herm_value#declare -* }
                case $__herm_name in __herm_* | trap) continue ;; esac
                builtin declare -f -- "$__herm_name" || __herm_whole=
                [[ $__herm_value != 'declare -fx '* ]] || builtin printf 'builtin export -f -- %q\n' "$__herm_name"
            done
            # Last: they must not change how the lines above are read.
            builtin alias -p
        fi
        [[ $__herm_part != last ]] || __herm_variable POSIXLY_CORRECT
        [[ ! $__herm_whole ]] || builtin printf '# complete\n'
    } > "$__herm_new"
}
__herm_variable() {
    case $1 in PWD | SHLVL | _ | BASHOPTS | SHELLOPTS) builtin return ;; esac
    [[ ${!1+x} ]] || builtin return
    builtin local __herm_value
    __herm_value=${!1}
    if [[ ${__herm_before[$1]+x} && ${__herm_before[$1]} == "$__herm_value" ]]; then
        if [[ $__herm_own != *" $1 "* || ! ${__herm_kept[$1]+x} ]]; then builtin return; fi
        __herm_value=${__herm_kept[$1]}
    fi
    builtin printf '__herm_set %s %q\n' "$1" "$__herm_value" || __herm_whole=
}

# The text's own trap on EXIT runs behind the saving, with the status that it would have seen; errexit does not see it.
__herm_first=$'{ __herm_save $? && :; } 2>/dev/null\n'
trap() {
    { builtin local - && builtin set +ax; } 2>/dev/null
    builtin local __herm_status=0
    if [[ $# == 0 || $1 == -p || $*/$# == --/1 ]]; then
        builtin local __herm_shown
        __herm_shown=$(\builtin trap "$@") || __herm_status=$?
        __herm_shown+=$'\n'
        [[ ${__herm_action+x} ]] || __herm_shown=${__herm_shown/"trap -- '$__herm_first' EXIT"$'\n'/}
        __herm_shown=${__herm_shown//"$__herm_first"/}
        [[ $__herm_shown == $'\n' ]] || builtin printf %s "$__herm_shown"
        builtin return "$__herm_status"
    fi
    builtin trap "$@" || __herm_status=$?
    builtin local __herm_words
    builtin eval "__herm_words=($(\builtin trap -p EXIT))"
    if [[ ${__herm_words[2]-} != "$__herm_first"* ]]; then
        if [[ ${__herm_words[2]+x} ]]; then __herm_action=${__herm_words[2]}; else builtin unset -v __herm_action; fi
        builtin trap -- "$__herm_first${__herm_action-}" EXIT
    fi
    builtin return "$__herm_status"
}
builtin trap -- "$__herm_first" EXIT
if [[ -r $__herm_state ]]; then builtin source "$__herm_state"; fi 2> /dev/null
if [[ ${#BASH_ALIASES[@]} != 0 ]]; then builtin shopt -s expand_aliases; fi
