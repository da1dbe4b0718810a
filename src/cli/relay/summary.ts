/**
 * What a relay did, told now and then in one line, for a line for every message would drown a log. What changes the situation (a
 * destination is held back, the database is away) is told at once.
 */

import type { RelayEvent } from '../../outbox/relay/events.ts'
import { formatDuration, formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'

export interface Totals {
	sent: number
	failed: number
	dead: number
	released: number
	lost: number
}

const none = (): Totals => ({ sent: 0, failed: 0, dead: 0, released: 0, lost: 0 })

const COUNTED: Readonly<Partial<Record<RelayEvent['type'], keyof Totals>>> = {
	message_sent: 'sent',
	message_failed: 'failed',
	message_dead: 'dead',
	message_released: 'released',
	lease_lost: 'lost',
}

/** In their order; the words for what there is only when something is wrong. */
const WORDS: readonly (readonly [keyof Totals, string])[] = [
	['sent', 'sent'],
	['failed', 'failed'],
	['dead', 'dead'],
	['released', 'given back'],
	['lost', 'taken over by others'],
]

export class Summary {
	readonly totals: Totals = none()
	#since = none()
	#latestError = ''

	/** Counts it; answers a line when it should be told at once. */
	add(event: RelayEvent): string | undefined {
		const counted = COUNTED[event.type]
		if (counted) {
			this.totals[counted] += 1
			this.#since[counted] += 1
		}
		if (event.type === 'message_failed' || event.type === 'message_dead') this.#latestError = errorOf(event)
		return sanitizeLine(newsOf(event) ?? '') || undefined
	}

	/** What happened since it was asked last; undefined when nothing did. */
	line(): string | undefined {
		const parts = partsOf(this.#since)
		const error = this.#latestError === '' ? '' : `; latest failure: ${this.#latestError}`
		this.#since = none()
		this.#latestError = ''
		return parts === '' ? undefined : sanitizeLine(parts + error)
	}

	/** All of it. */
	text(): string {
		return `In all: ${partsOf(this.totals) || 'nothing was sent'}.`
	}
}

const partsOf = (totals: Totals): string =>
	WORDS.filter(([name]) => totals[name] > 0)
		.map(([name, word]) => `${word} ${formatNumber(totals[name])}`)
		.join(', ')

/** What died without an error, as by its expiry, has its cause. */
function errorOf(event: RelayEvent & { type: 'message_failed' | 'message_dead' }): string {
	const { errorType = '', errorMessage = '', destination } = event
	const cause = event.type === 'message_dead' ? event.cause : 'no reason given'
	return `${[errorType, errorMessage].filter(Boolean).join(': ') || cause} (${destination})`
}

function newsOf(event: RelayEvent): string | undefined {
	switch (event.type) {
		case 'gate_change': {
			const held = event.pausedForMs > 0 ? `, held back for ${formatDuration(event.pausedForMs)}` : ''
			return `${event.destination}: breaker ${event.to}${held}${event.reason ? ` (${event.reason})` : ''}`
		}
		case 'handlers_hang':
			return `${event.destination}: sending hangs beyond its time limit, ${formatNumber(event.hanging)} at a time; nothing more is sent there until one ends`
		case 'store_failed':
			return `the database can not be asked (${event.doing}: ${event.errorMessage}); again in ${formatDuration(event.retryInMs)}`
		case 'store_recovered':
			return `the database is back (${event.doing})`
		default:
			return undefined
	}
}
