/**
 * Sums up what a relay does. A line per message would flood a log, so counts are printed every few seconds; a
 * change of the situation (a circuit opens, the database fails) is reported immediately.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { RelayEvent } from '../../outbox/events/relay-events.ts'
import { formatCount, formatDuration, formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'

/** The count that an event adds to, and its label, in the order of printing. */
const COUNTED = {
	relay_sent: ['sent', 'sent'],
	relay_retry_scheduled: ['failed', 'failed'],
	relay_dead_letter: ['dead', 'dead'],
	relay_released: ['released', 'released'],
	relay_lease_lost: ['lost', 'lost lease'],
} as const

const isCounted = (type: RelayEvent['type']): type is keyof typeof COUNTED => Object.hasOwn(COUNTED, type)

const zeroTotals = () => ({ sent: 0, failed: 0, dead: 0, released: 0, lost: 0 })

type RelayTotals = ReturnType<typeof zeroTotals>

export class RelaySummary {
	readonly totals: RelayTotals = zeroTotals()
	#sinceLastLine = zeroTotals()
	#latestError = ''

	/** Counts the event. Returns a line if it should be printed immediately. */
	add(event: RelayEvent): string | undefined {
		if (isCounted(event.type))
			for (const totals of [this.totals, this.#sinceLastLine]) totals[COUNTED[event.type][0]] += 1
		if (event.type === 'relay_retry_scheduled' || event.type === 'relay_dead_letter')
			this.#latestError = describeFailure(event)
		const notice = noticeFor(event)
		return notice === undefined ? undefined : sanitizeLine(notice)
	}

	/** Returns the counts since the last call, or undefined if nothing happened. */
	takeLine(): string | undefined {
		const counts = formatTotals(this.#sinceLastLine)
		const error = this.#latestError === '' ? '' : `; latest failure: ${this.#latestError}`
		this.#sinceLastLine = zeroTotals()
		this.#latestError = ''
		return counts === '' ? undefined : sanitizeLine(counts + error)
	}

	text(): string {
		return `Total: ${formatTotals(this.totals) || 'sent 0'}.`
	}
}

const formatTotals = (totals: RelayTotals): string =>
	Object.values(COUNTED)
		.filter(([name]) => totals[name] > 0)
		.map(([name, label]) => `${label} ${formatNumber(totals[name])}`)
		.join(', ')

/** A message that died without an error, for example by its expiry, has a cause. */
function describeFailure(
	event: RelayEvent & { type: 'relay_retry_scheduled' | 'relay_dead_letter' },
): string {
	const { errorType = '', errorMessage = '', destination } = event
	const fallback = event.type === 'relay_dead_letter' ? event.cause : 'unknown error'
	return `${[errorType, errorMessage].filter(Boolean).join(': ') || fallback} (${destination})`
}

function noticeFor(event: RelayEvent): string | undefined {
	switch (event.type) {
		case 'relay_state_change': {
			const { destination, to, pausedForMs, reason } = event
			const paused = pausedForMs > 0 ? `, paused for ${formatDuration(pausedForMs)}` : ''
			return `${destination}: circuit ${to}${paused}${reason ? ` (${reason})` : ''}`
		}
		case 'relay_paused':
			return `${event.destination}: paused for ${formatDuration(event.pausedForMs)}${event.reason ? ` (${event.reason})` : ''}`
		case 'relay_resumed':
			return `${event.destination}: resumed`
		case 'relay_handlers_hung':
			return `${event.destination}: ${formatCount(event.count, 'request')} ignored the timeout and still run; sending resumes when one ends`
		case 'relay_store_error':
			return `database error (${event.operation}: ${event.errorMessage}); retry in ${formatDuration(event.retryInMs)}`
		case 'relay_store_recovered':
			return `database recovered (${event.operation})`
		default:
			return undefined
	}
}

/** Calls a function at an interval until the returned function is called. */
export function every(runtime: Runtime, intervalMs: number, run: () => void): () => void {
	const fire = () => {
		run()
		cancel = runtime.setTimer(intervalMs, fire)
	}
	let cancel = runtime.setTimer(intervalMs, fire)
	return () => cancel()
}
