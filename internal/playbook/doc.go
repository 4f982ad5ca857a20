// Package playbook runs docs/dark-launch.md: its commands, flags, queries and alerts, in the order of the page.
//
// # Blocks
//
// Every fenced block of a page has one of these languages; any other, or none, is an error that names the line.
//
//   - json: all of flags.json from here on. The instance has followed it before the next block is run; to be sure of that,
//     the test leads it through everything off, or on, in between.
//   - console: lines that begin with "$ " are commands, which go on after a line that ends in a backslash; below each is
//     what it prints. The first command is go run ./examples/payments, without -addr: it is started on a free port, which
//     every command and output calls 127.0.0.1:8080, and with a fixed SEAWALL_SECRET, so that the ids of callers are the
//     same in every run. Every other command runs once, in a shell, and must succeed.
//   - log: lines that the instance must have logged by then, without their time. "…" stands for one word.
//   - promql: one query. Every metric, label and value in it must have been scraped from the instance, and the answer
//     must not be empty and have no NaN. Prometheus scrapes every 15 s of a made-up time: for ten minutes at the start, and
//     for one after each command.
//   - yaml: groups of Prometheus's alerting rules. Each alert must fire and not fire where the test's table says so.
//   - go: must parse.
//
// # Outputs
//
// What a command prints must be what the page says, but for this:
//
//   - a run of blanks is as good as one, in a table as two; blanks at the ends of lines do not count;
//   - a time or HTTP date is as good as any other, and so is a duration that is alone in parentheses;
//   - in the columns of a table whose numbers depend on how fast the machine is (varying has their headings), and in
//     "at most 5 times", a number is as good as any other, but zero is only as good as zero; in MEAN/S anything is good;
//   - the same holds for the counts of HTTP codes that uniq -c prints.
//
// A line is of a table if the table's heading is printed above it, and has as many cells.
//
// Numbers that are parts of a whole must have the page's sum: the counts of codes of one command, and allowed, denied,
// would_deny and skipped of a layer. So "60 200" is exact.
//
// It is a module of its own, so that Prometheus is no concern of Seawall's users.
package playbook
