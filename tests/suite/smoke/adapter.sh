say() { printf '%s\n' "$1"; }
note() { say '{"jsonrpc":"2.0","method":"'"$1"'","params":{"exec":"'"$exec"'"'"$2"'}}'; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
refuse() { say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":'"$1"',"message":"'"${3:-no}"'","data":{"kind":"'"$2"'"}}}'; }
ran() { # code, bytes of standard output, bytes of standard error
    answer '{"outcome":{"type":"exited","code":'"$1"'},"stdout":{"bytes":'"$2"'},"stderr":{"bytes":'"$3"'},"duration_ms":1}'
}
closed=true
begin() {
    :
    note exec.started ''
}
command() {
    case $line in
    *'echo hello'*)
        note exec.output ',"stream":"stdout","offset":0,"data":"hello\n"'
        ran 0 6 0 ;;
    *'exit '*) code=${line#*exit }; ran "${code%%[!0-9]*}" 0 0 ;;
    *'echo err'*)
        note exec.output ',"stream":"stdout","offset":0,"data":"out\n"'
        note exec.output ',"stream":"stderr","offset":0,"data":"err\n"'
        ran 0 4 4 ;;
    *'echo slow'*)
        sleep 2
        note exec.output ',"stream":"stdout","offset":0,"data":"slow\n"'
        ran 0 5 0 ;;
    *) ran 0 0 0 ;;
    esac
}
while IFS= read -r line; do
    id=${line#'{"id":'}; id=${id%%,*}
    exec=${line#*'"exec":"'}; exec=${exec%%'"'*}
    case $line in
    *'"method":"initialize"'*)
        answer '{"protocol":"herm/1","name":"mine","version":"1","capabilities":[],"choices":{"latency":"local","left_behind":"keep","relative_path":"refuse","shell":"posix","state":"none","stream_bytes":"exact","streams":"apart"}}' ;;
    *'"method":"sandbox.open"'*) closed=false; answer '{"sandbox":"box","state":"created","exec_mode":"native"}' ;;
    *'"method":"sandbox.close"'*smoke-nobody*) answer '{"existed":false}' ;;
    *'"method":"sandbox.close"'*) if $closed; then answer '{"existed":false}'; else answer '{"existed":true}'; fi; closed=true ;;
    *'"method":"exec.run"'*smoke-nobody*) refuse -32000 sandbox_not_found 'no sandbox herm-smoke-nobody' ;;
    *'"timeout_ms"'* | *'"env"'* | *'"cwd"'* | *'"mode":"bytes"'* | *'"user"'* | *'"pty"'* | *'"detach"'* | *'"rpc"'* | *'"session"'*) refuse -32601 unsupported ;;
    *'"method":"exec.run"'*) if $closed; then refuse -32000 sandbox_not_found 'no sandbox box'; else begin; command & fi ;;
    *) refuse -32601 unsupported ;;
    esac
done
wait
