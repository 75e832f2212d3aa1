# Counts the words that begin with t.

total=0
for word in one \
    two three; do
    case $word in
        t*) total=$((total + 1)) ;;
        *) printf '%s\n' "$word" ;;
    esac
done

text='two
  lines'
while read -r line; do
    printf '<%s>\n' "$line"
done <<END
$text
END
if [ "$total" -eq 2 ]; then
    printf 'total %s\n' "$total"
fi
