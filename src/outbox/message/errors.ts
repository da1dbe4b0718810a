/** Errors about what is enqueued, thrown before anything is written. */
import { YaokiError } from '../../core/errors/errors.ts'

/** Identifies a message in an error: `index` within a batch, or `id` of a stored message. */
export interface MessageRef {
	readonly topic?: unknown
	readonly index?: number | undefined
	readonly id?: string | undefined
}

/** What is wrong with one field. */
export interface MessageIssue {
	/** The path of the field: `dedupeKey`, `headers["traceparent"]`, `payload.items[3].price`. */
	readonly field: string
	readonly message: string
}

const MAX_ISSUES_IN_TEXT = 10
const MAX_SHOWN_LENGTH = 60

/**
 * A message is invalid: `outbox.enqueue` and `outbox.dead.edit` reject with it, and no message of the batch
 * was written. Fix the fields in `issues`.
 *
 * @example
 * await outbox.enqueue({ topic: 'order.created', payload: { total: NaN } })
 * // Invalid message (order.created): payload.total: expected a finite number, got NaN
 */
export class InvalidMessageError extends YaokiError {
	override readonly name = 'InvalidMessageError'
	/** The message's topic, if it is a string. */
	readonly topic: string | undefined
	/** Its index in the batch; undefined for a single message. */
	readonly index: number | undefined
	/** All issues, by field. */
	readonly issues: readonly MessageIssue[]

	constructor(ref: MessageRef, issues: readonly MessageIssue[], options?: ErrorOptions) {
		const parts = issues.slice(0, MAX_ISSUES_IN_TEXT).map(({ field, message }) => `${field}: ${message}`)
		if (issues.length > MAX_ISSUES_IN_TEXT) parts.push(`and ${issues.length - MAX_ISSUES_IN_TEXT} more`)
		super('YAOKI_INVALID_MESSAGE', `Invalid ${describeRef(ref)}: ${parts.join('; ')}`, options)
		this.topic = typeof ref.topic === 'string' ? ref.topic : undefined
		this.index = ref.index
		this.issues = issues
	}
}

/**
 * `tx` belongs to another database, or no transaction is open although one is required. `outbox.enqueue`
 * rejects with it, and nothing was written. Pass the transaction of your own writes as `tx`.
 */
export class OutboxTransactionError extends YaokiError {
	override readonly name = 'OutboxTransactionError'
	readonly reason: 'outside-transaction' | 'wrong-database'

	constructor(reason: OutboxTransactionError['reason'], message: string, options?: ErrorOptions) {
		super('YAOKI_OUTBOX_TRANSACTION', message, options)
		this.reason = reason
	}
}

export function invalidField(ref: MessageRef, field: string, received: unknown, expected: string): never {
	throw new InvalidMessageError(ref, [{ field, message: `expected ${expected}, got ${show(received)}` }])
}

function describeRef({ topic, index, id }: MessageRef): string {
	const which = index === undefined ? 'message' : `messages[${index}]`
	const name = id ?? (typeof topic === 'string' ? truncate(topic) : '')
	return name === '' ? which : `${which} (${name})`
}

/** Returns a short description of any value. Never throws, although the value's own toString may. */
export function show(value: unknown): string {
	if (typeof value === 'string') return `'${truncate(value)}'`
	if (typeof value === 'function') return 'a function'
	if (Array.isArray(value)) return 'an array'
	if (typeof value !== 'object' || value === null) return truncate(String(value))
	try {
		const name: unknown = value.constructor?.name
		if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object'
		return `${/^[AEIO]/i.test(name) ? 'an' : 'a'} ${truncate(name)}`
	} catch {
		return 'an object'
	}
}

const truncate = (text: string): string =>
	text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}... (${text.length} characters)` : text
