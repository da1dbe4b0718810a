/**
 * The attempt log of a destination: what each call of its handler resulted in. A record is written with the
 * settlement of its message, so it costs no transaction of its own; a lost lease has no settlement, and its
 * record is written separately.
 */

import { withOptionPath } from '../../core/options/option-path.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import { AttemptRecorder } from '../destinations/attempt-recorder.ts'
import type { AttemptLogOptions } from '../destinations/destination.ts'
import { errorName, messageForEvents, responseOf, truncate } from '../message/stored-error.ts'
import type { AttemptOutcome, NewAttempt, Settlement } from '../store/rows.ts'
import { type Delivery, RelayStoppedError } from './delivery.ts'
import { nextTick } from './event-loop-yield.ts'
import type { RelayContext } from './relay-context.ts'

export interface AttemptLogSettings {
	readonly keepForMs: number
	readonly maxResponseChars: number
	readonly redact?: ((response: string) => string) | undefined
}

const WEEK_MS = 604_800_000

const SCHEMA: OptionSchema = {
	keepForMs: [1, Infinity, WEEK_MS],
	maxResponseChars: [0, 100_000, 1_000, 'integer'],
	redact: 'function',
}

export function readAttemptLog(
	path: string,
	given: AttemptLogOptions | boolean | undefined,
): AttemptLogSettings | undefined {
	if (given === undefined || given === false) return undefined
	const options = given === true ? {} : given
	if (Object(options) !== options)
		invalidOption(path, given, 'true, false or { keepForMs, maxResponseChars }')
	return withOptionPath(path, () => {
		checkNames(options, SCHEMA)
		return readOptions<AttemptLogSettings>(options, SCHEMA)
	})
}

/** One call of a handler. */
export class AttemptLog {
	readonly recorder: AttemptRecorder
	readonly #settings: AttemptLogSettings
	readonly #startedAt: number

	constructor(settings: AttemptLogSettings, startedAt: number) {
		this.#settings = settings
		this.#startedAt = startedAt
		this.recorder = new AttemptRecorder(settings.maxResponseChars)
	}

	/** Returns the record of the attempt, which ends now. */
	toAttempt({ row, error }: Delivery, outcome: AttemptOutcome, context: RelayContext): NewAttempt {
		const durationMs = context.runtime.now() - this.#startedAt
		const hasFailed = error !== undefined && outcome !== 'sent'
		const failed = hasFailed ? responseOf(error, this.#settings.maxResponseChars) : undefined
		const { statusCode = failed?.statusCode, response = failed?.body } = this.recorder
		return {
			messageId: row.id,
			destination: row.destination,
			attempt: row.attempt,
			relay: context.owner,
			startedAt: Math.round(context.databaseNow() - durationMs),
			durationMs: Math.max(0, Math.round(durationMs)),
			outcome,
			statusCode: statusCode ?? null,
			errorType: hasFailed ? errorName(error) : null,
			errorMessage: hasFailed ? messageForEvents(error) : null,
			response: this.#excerpt(response ?? ''),
			keepForMs: this.#settings.keepForMs,
		}
	}

	/** If `redact` fails, nothing is stored: a bug in it must not reveal what it was meant to hide. */
	#excerpt(response: string): string | null {
		const { maxResponseChars, redact } = this.#settings
		const excerpt = truncate(response, maxResponseChars)
		if (excerpt === '' || redact === undefined) return excerpt || null
		try {
			const redacted: unknown = redact(excerpt)
			return typeof redacted === 'string' ? truncate(redacted, maxResponseChars) || null : null
		} catch {
			return null
		}
	}
}

/** Returns the settlement with the record of its attempt, if the destination has a log and the handler was called. */
export function withAttempt(settlement: Settlement, delivery: Delivery, context: RelayContext): Settlement {
	const { log } = delivery
	if (log === undefined) return settlement
	return { ...settlement, log: log.toAttempt(delivery, outcomeOf(settlement, delivery), context) }
}

function outcomeOf({ type }: Settlement, delivery: Delivery): AttemptOutcome {
	if (type === 'release') return delivery.releaseReason === 'in-progress' ? 'in-progress' : 'paused'
	if (type !== 'retry') return type
	if (delivery.error instanceof RelayStoppedError) return 'stopped'
	return delivery.isTimedOut ? 'timed-out' : 'retry'
}

/** Writes the attempts whose leases were lost, those of one turn of the event loop together. */
export class LostAttempts {
	readonly #context: RelayContext
	#pending: NewAttempt[] = []

	constructor(context: RelayContext) {
		this.#context = context
	}

	add(delivery: Delivery): void {
		if (delivery.log === undefined) return
		const context = this.#context
		const count = this.#pending.push(delivery.log.toAttempt(delivery, 'lease-lost', context))
		if (count === 1) nextTick(context.runtime, () => this.#write())
	}

	#write(): void {
		const attempts = this.#pending
		this.#pending = []
		// A log is not worth a repetition: the database may be the reason why the leases were lost.
		this.#context.callStoreOnce(() => this.#context.store.logAttempts(attempts)).catch(() => {})
	}
}
