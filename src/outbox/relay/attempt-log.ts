/** The attempt log of one call of a handler: its settings, what the handler added, and the record that it becomes. */

import type { AttemptLogSettings } from '../destinations/attempt-log-options.ts'
import { AttemptRecorder } from '../destinations/attempt-recorder.ts'
import { errorName, messageForEvents, responseOf, truncate } from '../message/stored-error.ts'
import type { AttemptOutcome, ClaimedRow, NewAttempt } from '../store/rows.ts'
import type { RelayContext } from './relay-context.ts'

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
	toAttempt(
		{ row, error }: { readonly row: ClaimedRow; readonly error: unknown },
		outcome: AttemptOutcome,
		context: RelayContext,
	): NewAttempt {
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
