# Of the shell's own making are OLDPWD, where it has changed its directory, and in Bash PIPESTATUS and _.
known=$(set | sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p')
plain=${0##*/}
plain=$("${plain#-}" -c set | sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p' | tr '\n' ' ')
for name in $known; do
    case " OLDPWD PIPESTATUS _ $plain " in
        *" $name "*) ;;
        *) printf '%s\n' "$name" ;;
    esac
done
if [ -n "${BASH_VERSION:-}" ]; then
    declare -F | sed '/^declare -fx /d'
fi
