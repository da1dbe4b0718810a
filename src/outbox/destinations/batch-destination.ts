/**
 * Destinations that take several messages in one call. Outside a relay such a destination works like any other,
 * with batches of one message. The relay finds the batch handler on the `deliver` function: a copy of the
 * destination with other options keeps it, and one with another `deliver` does not.
 */
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import type { Message } from '../message/message.ts'
import { type BatchReport, readReport } from './batch-report.ts'
import type { DestinationOf, DestinationOptions, MessageHandler } from './destination.ts'
import { COMMON_SCHEMA } from './destination-schema.ts'

/** The abort signal of a call. */
export interface BatchContext {
	readonly signal: AbortSignal
}

/** A function without a result reports that all messages were sent. */
type BatchResult = BatchReport | undefined | Promise<BatchReport | undefined> | Promise<void>

/** As for `MessageHandler`: without a schema the handler declares the type of its payloads. */
type BatchHandler<M extends Message = Message> = unknown extends M['payload']
	? BivariantHandler<M>['deliver']
	: (messages: readonly M[], context: BatchContext) => BatchResult

interface BivariantHandler<M extends Message> {
	deliver(messages: readonly M[], context: BatchContext): BatchResult
}

/** Options of `batchDestination`. `deliver` is required. */
export interface BatchDestinationOptions<M extends Message = Message> extends DestinationOptions {
	/**
	 * Sends the messages. Returns nothing if all were sent, or a `BatchReport` with an entry for each message. If
	 * it throws, no message counts as sent. `signal` is aborted after the timeout, when the relay stops, or when
	 * the leases of all messages are lost.
	 */
	readonly deliver: BatchHandler<M>
	/** Maximum number of messages per call. Default 100. */
	readonly maxMessages?: number | undefined
	/**
	 * Maximum size of the payloads of a call, in bytes as JSON. A larger message is sent alone. Default: no limit.
	 */
	readonly maxBytes?: number | undefined
}

/** How a relay delivers to a batch destination. */
export interface BatchSettings {
	readonly deliver: BatchHandler
	readonly maxMessages: number
	readonly maxBytes: number
}

const SCHEMA: OptionSchema = {
	deliver: 'function',
	maxMessages: [1, 10_000, 100, 'integer'],
	maxBytes: [1, Infinity, Infinity],
	...COMMON_SCHEMA,
}

/** Marks the `deliver` function of a batch destination, also for a relay of another copy of the package. */
const BATCH: unique symbol = /* @__PURE__ */ Symbol.for('yaoki.batch')

/**
 * Creates a destination of a `Relay` that gets several messages in one call, as many as are due, and reports
 * the result of each. Retries, order, circuit breaker, dead letters and metrics stay per message.
 *
 * @example
 * const relay = new Relay(outbox, {
 * 	destinations: {
 * 		'order.created': batchDestination({ deliver: async (messages) => search.index(messages) }),
 * 	},
 * })
 */
export function batchDestination<M extends Message = Message>(
	options: BatchDestinationOptions<M>,
): DestinationOf<M> {
	if (Object(options) !== options) invalidOption('options', options, 'an object with deliver')
	checkNames(options, SCHEMA, 'batchDestination')
	if (options.deliver === undefined)
		invalidOption('deliver', undefined, 'a function (messages, { signal }) => Promise<report or nothing>')
	const { maxMessages, maxBytes } = readOptions<Omit<BatchSettings, 'deliver'>>(options, SCHEMA)
	const { deliver, maxMessages: _, maxBytes: __, ...settings } = options
	// The relay passes it only messages of its destination, as its type requires.
	const handler = deliver as BatchHandler
	const single: MessageHandler = async (message, { signal }) => {
		const { errors } = readReport(await handler([message], { signal }), [message.id])
		if (errors.has(message.id)) throw errors.get(message.id)
	}
	const batch: BatchSettings = { deliver: handler, maxMessages, maxBytes }
	return { ...settings, deliver: Object.assign(single, { [BATCH]: batch }) as MessageHandler<M> }
}

/** Returns how to deliver batches, if `deliver` is of a batch destination. */
export const batchOf = (deliver: object): BatchSettings | undefined =>
	BATCH in deliver ? (deliver[BATCH] as BatchSettings) : undefined
