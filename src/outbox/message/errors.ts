/** What is refused before anything is written: a message that can not be sent as it is, and a transaction that is none. */
import { YaokiError } from '../../core/errors/errors.ts'

/** Which message is spoken of: of a batch the one at `index`, or one that has an `id` already. */
export interface MessageRef {
	readonly topic?: unknown
	readonly index?: number | undefined
	readonly id?: string | undefined
}

/** What is wrong with one field. */
export interface MessageIssue {
	/** Where: `dedupeKey`, `headers.traceparent`, `payload.items[3].price`. */
	readonly field: string
	readonly message: string
}

const MOST_ISSUES = 10
const LONGEST_SHOWN = 60

/**
 * A message that was not enqueued, nor anything else of its batch.
 *
 * @example
 * await outbox.enqueue({ topic: 'order.created', payload: { total: NaN } })
 * // message (order.created): payload.total: got NaN; takes a finite number, for JSON has no other
 */
export class InvalidMessageError extends YaokiError {
	override readonly name = 'InvalidMessageError'
	/** Its topic, if it has one. */
	readonly topic: string | undefined
	/** Its place in the batch, from 0; undefined when it came alone. */
	readonly index: number | undefined
	/** All that was found, field by field. */
	readonly issues: readonly MessageIssue[]

	constructor(place: MessageRef, issues: readonly MessageIssue[], options?: ErrorOptions) {
		const told = issues.slice(0, MOST_ISSUES).map(({ field, message }) => `${field}: ${message}`)
		if (issues.length > MOST_ISSUES) told.push(`and ${issues.length - MOST_ISSUES} more`)
		super('YAOKI_OUTBOX_MESSAGE', `${named(place)}: ${told.join('; ')}`, options)
		this.topic = typeof place.topic === 'string' ? place.topic : undefined
		this.index = place.index
		this.issues = issues
	}
}

/** `tx` is of another database, or there is no transaction where one was asked for. Nothing was written. */
export class TransactionError extends YaokiError {
	override readonly name = 'TransactionError'

	constructor(message: string) {
		super('YAOKI_OUTBOX_TRANSACTION', message)
	}
}

export function refuseField(place: MessageRef, field: string, got: unknown, takes: string): never {
	throw new InvalidMessageError(place, [{ field, message: `got ${show(got)}; takes ${takes}` }])
}

function named({ topic, index, id }: MessageRef): string {
	const which = index === undefined ? 'message' : `messages[${index}]`
	const name = id ?? (typeof topic === 'string' ? cut(topic) : '')
	return name === '' ? which : `${which} (${name})`
}

/** Any value in a few words. Never throws: a value may have a text that does. */
export function show(value: unknown): string {
	if (typeof value === 'string') return `'${cut(value)}'`
	if (typeof value === 'function') return 'a function'
	if (Array.isArray(value)) return 'a list'
	if (typeof value !== 'object' || value === null) return cut(String(value))
	try {
		const name: unknown = value.constructor?.name
		if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object'
		return `${/^[AEIO]/i.test(name) ? 'an' : 'a'} ${cut(name)}`
	} catch {
		return 'an object'
	}
}

const cut = (text: string): string =>
	text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}... (${text.length} characters)` : text
