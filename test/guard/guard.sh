# Ends what a test process has started, when that process dies. The test process holds the other end of the standard input, so the input ends
# with it, even after SIGKILL. Each line adds (+) or removes (-) an entry: 'QUIT 123' and 'KILL 123' (a process), 'KILL -123' (a process group),
# or the path of a folder.

# Ctrl-C in a terminal reaches every process. This one ends last.
trap '' HUP INT TERM

# Entries are separated by line ends, because a path may contain spaces. No entry is a file name pattern.
newline='
'
IFS=$newline
set -f

entries=
while read -r line; do
	case $line in
	+*) entries="$entries${line#+}$newline" ;;
	-*)
		kept=
		for entry in $entries; do
			[ "$entry" = "${line#-}" ] || kept="$kept$entry$newline"
		done
		entries=$kept
		;;
	esac
done

# In a container whose first process collects no orphans, a process that has ended stays as a zombie.
runs() {
	kill -0 -- "$1" 2>/dev/null || return 1
	if [ -r "/proc/$1/status" ]; then ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; fi
}

processes=
folders=
for entry in $entries; do
	case $entry in
	/*) folders="$folders$entry$newline" ;;
	*)
		processes="$processes${entry#* }$newline"
		kill -s "${entry%% *}" -- "${entry#* }" 2>/dev/null
		;;
	esac
done
for process in $processes; do
	# PostgreSQL stops its own processes after SIGQUIT, but may be too busy or stopped.
	checks=0
	while runs "$process" && [ "$checks" -lt 100 ]; do
		sleep 0.1
		checks=$((checks + 1))
	done
	kill -s KILL -- "$process" 2>/dev/null
done
for folder in $folders; do rm -rf -- "$folder"; done
