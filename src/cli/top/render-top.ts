/** The text of `yaoki top`: what is wrong, then a table of each kind. Empty tables are left out. */
import type {
	CircuitRow,
	Count,
	DestinationRow,
	LimitRow,
	OutboxView,
	Overview,
	Problem,
	RetryRow,
} from '../../dashboard/contract.ts'
import { en } from '../../dashboard/words/en.ts'
import { problemSentence } from '../../dashboard/words/sentence.ts'
import { formatDuration, formatNumber, formatPercent, formatRelativeTime } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { sparkline } from '../../text/sparkline.ts'
import { formatTable } from '../../text/table.ts'
import { type Align, wrap } from '../../text/width.ts'
import type { CommandIo } from '../io.ts'

type TopFormat = Pick<CommandIo, 'style' | 'columns'>

type Cells = readonly string[]

/** Columns of text after the name. The others are figures, which are aligned to the right. */
const TEXTS: readonly string[] = ['state', 'kind', 'source', 'by', 'last error', 'figures']

const SPARKLINE_COLUMNS = 20

/** Returns the lines. `name` is where the figures are from. */
export function renderTop(name: string, overview: Overview, format: TopFormat): readonly string[] {
	const { style, columns } = format
	const width = columns - 1
	const table = (head: Cells, rows: readonly Cells[]): readonly string[] =>
		rows.length === 0
			? []
			: ['', ...formatTable({ head, rows, align: head.map(alignOf) }, { width, style }).split('\n')]
	return [
		...wrap(headline(name, overview), width, 'break').map((line) => style.bold(line)),
		...problemLines(overview.problems, format),
		...table(
			['circuit', 'state', 'calls', 'errors', 'rejected/s', 'for', 'probe in', 'last error'],
			overview.circuits.map(circuitCells),
		),
		...table(
			['last minute', 'retries/s', 'succeeded', 'per call', 'failed/s', 'rejected/s', 'failures, 10 min'],
			overview.retries.map(retryCells),
		),
		...table(['limit', 'kind', 'used', 'of', 'queued', 'left', 'rejects'], overview.limits.map(limitCells)),
		...overview.outboxes.flatMap((outbox) => outboxLines(outbox, overview.at, table)),
		...table(
			['webhooks', 'enabled', 'failing', 'disabled', 'failing for'],
			overview.webhooks.map(({ source, enabled, failing, disabled, failingSinceMs }) => [
				source,
				...[enabled, failing, sum(Object.values(disabled))].map((count) => formatNumber(count)),
				durationOrDash(failingSinceMs),
			]),
		),
		...table(
			['inbox', 'messages', 'expired', 'oldest'],
			overview.inboxes.map(({ source, marks, expired, oldestAgeMs }) => [
				...[source, countText(marks), countText(expired), durationOrDash(oldestAgeMs)],
			]),
		),
		...table(
			['idempotency', 'replays', 'conflicts', 'abandoned', 'figures'],
			overview.idempotency.map(({ source, replays, conflicts, abandoned, figures }) => [
				source,
				...[replays, conflicts, abandoned].map((count) => formatNumber(count)),
				Object.entries(figures)
					.map(([figure, value]) => `${figure} ${formatNumber(value)}`)
					.join(', '),
			]),
		),
		...table(
			['job', 'source', 'by', 'state', 'done', 'of'],
			overview.jobs.map(({ action, source, by, state, changed, total }) => [
				...[action, source, by, state, formatNumber(changed), countText(total)],
			]),
		),
	]
}

function headline(name: string, { process: { host, pid, startedAt }, at, isDatabaseOnly }: Overview): string {
	const where = isDatabaseOnly
		? 'what the database knows'
		: `process ${pid} on ${host}, up ${formatDuration(at - startedAt)}`
	return sanitizeLine(`${name}: ${where}`)
}

function problemLines(problems: readonly Problem[], { style, columns }: TopFormat): readonly string[] {
	if (problems.length === 0) return [style.green(en.nothingWrong)]
	return problems.flatMap((problem) => {
		const isError = problem.severity === 'error'
		const color = isError ? style.red : style.yellow
		const [first = '', ...more] = wrap(sanitizeLine(problemSentence(en, problem)), columns - 3, 'break')
		return [`${isError ? '×' : '!'} ${first}`, ...more.map((line) => `  ${line}`)].map((line) => color(line))
	})
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

/** Returns `10,000+` if counting stopped there. */
const countText = ({ count, isCapped }: Count): string => `${formatNumber(count)}${isCapped ? '+' : ''}`

const durationOrDash = (ms: number | null): string => (ms === null ? '-' : formatDuration(ms))
const numberOrDash = (value: number | null): string => (value === null ? '-' : formatNumber(value))
const shareOrDash = (share: number | null): string => (share === null ? '-' : formatPercent(share, 0))
const rate = (perSecond: number): string => formatNumber(perSecond, 1)

const alignOf = (name: string, column: number): Align =>
	column === 0 || TEXTS.includes(name) ? 'left' : 'right'

/** The name of a policy usually starts with the source, such as `payments/circuitBreaker`. */
function nameOf({ source, name, key }: Pick<CircuitRow, 'source' | 'name' | 'key'>): string {
	const full = name.startsWith(source) ? name : `${source}: ${name}`
	return key === null || key === '' ? full : `${full} (${key})`
}

function circuitCells(circuit: CircuitRow): Cells {
	const { state, isShadow, calls, errorRate, rejectedPerSecond, sinceMs, probeInMs, lastError } = circuit
	return [
		...[nameOf(circuit), isShadow ? `${state} (shadow)` : state, formatNumber(calls), shareOrDash(errorRate)],
		...[rate(rejectedPerSecond), durationOrDash(sinceMs), durationOrDash(probeInMs)],
		shorten(lastError ?? ''),
	]
}

/** Cells do not wrap. The whole text is in the sentence above, and on the page. */
const MAX_ERROR = 30
const shorten = (text: string): string =>
	text.length > MAX_ERROR ? `${text.slice(0, MAX_ERROR - 1)}…` : text

const retryCells = (row: RetryRow): Cells => [
	...[row.source, rate(row.retriesPerSecond), shareOrDash(row.successRate)],
	row.meanRetries === null ? '-' : formatNumber(row.meanRetries, 1),
	...[rate(row.failuresPerSecond), rate(row.rejectedPerSecond), sparkline(row.failures, SPARKLINE_COLUMNS)],
]

const limitCells = (row: LimitRow): Cells => [
	...[nameOf(row), row.kind, numberOrDash(row.used), numberOrDash(row.limit)],
	...[numberOrDash(row.queued), numberOrDash(row.available), shareOrDash(row.rejectProbability)],
]

function outboxLines(
	outbox: OutboxView,
	now: number,
	table: (head: Cells, rows: readonly Cells[]) => readonly string[],
): readonly string[] {
	const { source, destinations, totals, relays, hasMoreDestinations, throughput } = outbox
	const row = (name: string, state: string, counts: OutboxView['totals']) => [
		...[name, state, countText(counts.due), durationOrDash(counts.lagMs), countText(counts.dead)],
		...[countText(counts.scheduled), countText(counts.inFlight)],
		...[durationOrDash(counts.ageMs), shareOrDash(counts.failingShare)],
	]
	const all = row('all', `${rate(throughput)} sent/s`, totals)
	return [
		...table(
			[source, 'state', 'due', 'lag', 'dead', 'scheduled', 'in flight', 'oldest', 'failing'],
			[...destinations.map((one) => row(one.destination, stateOf(one), one)), all],
		),
		...(hasMoreDestinations ? ['More destinations are not shown.'] : []),
		...table(
			[`relays of ${source}`, 'state', 'in flight', 'sent', 'failed', 'dead', 'sent/s', 'last seen'],
			relays.map((relay) => [
				`${relay.host}:${relay.pid}`,
				relay.isAlive ? 'alive' : 'ended',
				...[relay.inFlight, relay.sent, relay.failed, relay.dead].map((count) => formatNumber(count)),
				...[rate(relay.throughput), formatRelativeTime(Math.min(0, relay.seenAt - now))],
			]),
		),
	]
}

function stateOf({ circuit, pause, pauseEndsInMs }: DestinationRow): string {
	if (pause === null) return circuit === 'closed' ? 'sending' : `circuit ${circuit}`
	const name = { operator: 'paused', 'retry-after': 'Retry-After', circuit: `circuit ${circuit}` }[pause]
	return pauseEndsInMs === null ? name : `${name}, ${formatDuration(pauseEndsInMs)}`
}
