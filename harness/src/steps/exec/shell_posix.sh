path=/some/where/file.tar.gz
printf '%s %s %s %s\n' "${path##*/}" "${path%%.*}" "${never_set:-default}" "${#path}"
set -- 'a b' c
printf '%s:' "$#" "$@"
printf '\n'
add() { printf '%s\n' "$(($1 + $2))"; }
add 2 "$(printf '%s' "$(printf '%s' 40)")"
(cd / && pwd)
trap 'printf "usr1\n"' USR1
kill -s USR1 "$$"
printf '%s\n' one two | while read -r word; do printf '<%s>' "$word"; done
printf '\n'
! false && printf 'not\n'
