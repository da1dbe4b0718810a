/** A batch handler that records its calls, and the payloads of each message that was sent. */
import { type BatchReport, batchDestination, type Message } from 'yaoki/outbox'
import type { BatchDestinationOptions } from '../../../src/outbox/destinations/batch-destination.ts'
import type { TestSystem } from './setup.ts'

type Deliver = (
	messages: readonly Message[],
	signal: AbortSignal,
) => BatchReport | undefined | Promise<BatchReport | undefined>

export interface BatchRecord {
	/** The payloads of each call. */
	readonly calls: unknown[][]
	readonly signals: AbortSignal[]
	/** Returns a destination whose handler is recorded. */
	destination(
		deliver?: Deliver,
		options?: Omit<BatchDestinationOptions, 'deliver'>,
	): ReturnType<typeof batchDestination>
	sizes(): number[]
}

export function recordBatches(): BatchRecord {
	const calls: unknown[][] = []
	const signals: AbortSignal[] = []
	return {
		calls,
		signals,
		destination: (deliver = () => undefined, options = {}) =>
			batchDestination({
				...options,
				async deliver(messages: readonly Message[], { signal }) {
					calls.push(messages.map(({ payload }) => payload))
					signals.push(signal)
					return deliver(messages, signal)
				},
			}),
		sizes: () => calls.map(({ length }) => length),
	}
}

/** Returns the payloads of the messages that became dead letters. */
export async function deadPayloads({ outbox }: TestSystem): Promise<unknown[]> {
	const dead = await outbox.list({ status: 'dead' }, { limit: 1_000 })
	return dead.map(({ payload }) => payload)
}
