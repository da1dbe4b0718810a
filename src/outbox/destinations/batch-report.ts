/**
 * Reads the report of a batch: which messages were sent, and why the others were not. A message counts as sent
 * only if the report says so and nothing in it says otherwise, because each is delivered at least once.
 */
import { YaokiError } from '../../core/errors/errors.ts'
import { isObject } from '../../core/options/schema.ts'

/**
 * What became of each message of a batch, which `deliver` of a `batchDestination` returns. Without an `error`,
 * or with `undefined` or `null`, the message was sent.
 */
export type BatchReport = readonly { readonly id: string; readonly error?: unknown }[]

export interface BatchFates {
	/** The errors of the messages that were not sent, by id. */
	readonly errors: ReadonlyMap<string, unknown>
	/** Ids in the report that were not in the batch. */
	readonly foreignIds: readonly string[]
}

const ALL_SENT: BatchFates = { errors: new Map(), foreignIds: [] }

/** Throws if the report cannot be read: then it is unknown what was sent. */
export function readReport(report: unknown, ids: readonly string[]): BatchFates {
	if (report === undefined) return ALL_SENT
	if (!Array.isArray(report)) throw invalidReport(typeof report)
	const reported = new Map<string, unknown>()
	report.forEach((entry: unknown, index) => {
		if (!isObject(entry) || !('id' in entry) || typeof entry.id !== 'string')
			throw invalidReport(`no id in element ${index}`)
		const error = 'error' in entry ? entry.error : undefined
		// If a message has two entries, the one with an error counts.
		reported.set(entry.id, reported.get(entry.id) ?? error)
	})
	const errors = new Map<string, unknown>()
	for (const id of ids) {
		const error = reported.has(id) ? (reported.get(id) ?? undefined) : notReported(id)
		if (error !== undefined) errors.set(id, error)
		reported.delete(id)
	}
	return { errors, foreignIds: [...reported.keys()] }
}

const invalidReport = (found: string): YaokiError =>
	new YaokiError(
		'YAOKI_OUTBOX_INVALID_REPORT',
		`deliver returned an invalid report (${found}). Return nothing if all messages were sent, or an array with { id, error } for each message.`,
	)

const notReported = (id: string): YaokiError =>
	new YaokiError(
		'YAOKI_OUTBOX_NOT_REPORTED',
		`the report of the batch has no entry for message ${id}, so it is not known to be sent. Report every message of the batch.`,
	)
