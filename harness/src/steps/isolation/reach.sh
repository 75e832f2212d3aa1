# Ways out that a POSIX shell has with BusyBox, or with Bash; says "no means" where there is none.
limited() { if command -v timeout >/dev/null 2>&1; then timeout "$@"; else shift; "$@"; fi; }
has() { command -v "$1" >/dev/null 2>&1; }
by_connection() {
    if has nc; then printf %s "$3" | limited 7 nc -w 6 "$1" "$2"
    elif has busybox; then printf %s "$3" | limited 7 busybox nc -w 6 "$1" "$2"
    elif has bash; then limited 7 bash -c 'printf %s "$3" >"/dev/tcp/$1/$2"' bash "$1" "$2" "$3"
    else echo no means >&3
    fi
}
by_datagram() {
    if has busybox; then limited 1 busybox tftp -g -l /dev/null -r "$3" "$1" "$2"
    elif has bash; then bash -c 'printf %s "$3" >"/dev/udp/$1/$2"' bash "$1" "$2" "$3"
    elif has nc; then printf %s "$3" | limited 1 nc -u -w 1 "$1" "$2"
    else echo no means >&3
    fi
}
by_question() {
    if has busybox; then limited 1 busybox nslookup "$3.herm.invalid" "$1:$2"
    elif has bash; then bash -c 'printf "\0\1\1\0\0\1\0\0\0\0\0\0\\%03o%s\4herm\7invalid\0\0\1\0\1" "${#3}" "$3" >"/dev/udp/$1/$2"' bash "$1" "$2" "$3"
    else echo no means >&3
    fi
}
by_usual_question() {
    if has nslookup; then limited 7 nslookup "$1.herm.invalid"
    elif has busybox; then limited 7 busybox nslookup "$1.herm.invalid"
    fi 2>&1 | grep NXDOMAIN >/dev/null && echo reached a name server >&3
}
listen() {
    if has busybox; then limited 20 busybox nc -l -p "$1"
    elif has nc; then limited 20 nc -l -p "$1" 2>/dev/null || limited 20 nc -l "$1"
    else echo no means >&3
    fi
}
exec 3>&1
