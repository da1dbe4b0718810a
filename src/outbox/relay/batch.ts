/**
 * One call of a batch handler: the messages that share its slot, its timeout and its AbortSignal. What becomes
 * of a message is decided for each of them; the dispatcher does that.
 */

import type { Emitter } from '../../core/observe/emitter.ts'
import type { AroundInfo } from '../../core/observe/observer.ts'
import type { TimeoutEntry, TimeoutList } from '../../core/runtime/timeout-list.ts'
import type { BatchContext, BatchSettings } from '../destinations/batch-destination.ts'
import { type BatchFates, readReport } from '../destinations/batch-report.ts'
import type { RelayEvent } from '../events/relay-events.ts'
import type { Message } from '../message/message.ts'
import { type Delivery, deliveryInfo, type SharedCall } from './delivery.ts'
import { HandlerSignal } from './handler-signal.ts'

export class Batch extends HandlerSignal implements SharedCall {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	startedAt: number | undefined
	list: TimeoutList | undefined
	readonly deliveries: readonly Delivery[]
	/** The circuit generation in which it was started. */
	readonly generation: number
	readonly #onTimeout: (batch: Batch) => void
	readonly #aborted = new Set<Delivery>()

	constructor(deliveries: readonly Delivery[], generation: number, onTimeout: (batch: Batch) => void) {
		super()
		this.deliveries = deliveries
		this.generation = generation
		this.#onTimeout = onTimeout
	}

	/** True if its handler runs although nothing depends on it: after a timeout, or without any lease. */
	get isSettled(): boolean {
		return this.deliveries.every(({ isSettled }) => isSettled)
	}

	/** The call goes on for the others, and is aborted with the last one. */
	abortOne(delivery: Delivery, reason: unknown): void {
		this.#aborted.add(delivery)
		if (this.#aborted.size === this.deliveries.length) this.abort(reason)
	}

	expire(): void {
		this.#onTimeout(this)
	}
}

/** The handler sees nothing else of the batch. */
class Context implements BatchContext {
	readonly #batch: Batch

	constructor(batch: Batch) {
		this.#batch = batch
	}

	get signal(): AbortSignal {
		return this.#batch.signal
	}
}

/** Calls the handler, with the observer's `around` hook if there is one. Rejects if the call failed as a whole. */
export async function invokeBatch(
	{ deliver }: BatchSettings,
	messages: readonly Message[],
	batch: Batch,
	relay: string,
	{ around }: Emitter<RelayEvent>,
): Promise<BatchFates> {
	const call = async () => {
		const report: unknown = await deliver(messages, new Context(batch))
		return readReport(
			report,
			batch.deliveries.map(({ row }) => row.id),
		)
	}
	if (!around) return call()
	// The hook returns what `next` returned, which is not typed.
	let fates: Promise<BatchFates> | undefined
	const result = around(batchInfo(relay, batch), () => {
		fates = call()
		return fates
	})
	await result
	return fates ?? call()
}

/** A batch of one message is observed as any delivery, as a part of the trace of its message. */
function batchInfo(relay: string, { deliveries }: Batch): AroundInfo {
	const infos = deliveries.map(({ row }) => deliveryInfo(relay, row))
	const [first] = infos
	if (first && infos.length === 1) return first
	return { type: 'batch', relay, destination: first?.destination ?? '', deliveries: infos }
}

/**
 * Takes further messages for a call that starts with `first`, up to the limits of its destination. `next` takes
 * the next message of the queue if it fits. Nothing waits for more messages: a batch is what is queued.
 */
export function collectBatch(
	{ maxBytes }: BatchSettings,
	max: number,
	first: Delivery,
	isAlone: (delivery: Delivery) => boolean,
	next: (fits: (delivery: Delivery) => boolean) => Delivery | undefined,
): Delivery[] {
	const deliveries = [first]
	if (isAlone(first)) return deliveries
	let bytes = sizeOf(first, maxBytes)
	const fits = (delivery: Delivery): boolean =>
		deliveries.length < max &&
		delivery.division === first.division &&
		!isAlone(delivery) &&
		bytes + sizeOf(delivery, maxBytes) <= maxBytes
	for (let more = next(fits); more; more = next(fits)) {
		deliveries.push(more)
		bytes += sizeOf(more, maxBytes)
	}
	return deliveries
}

/**
 * Returns the messages of a report with the failed ones spread evenly among those that were sent: they failed at
 * the same time, and a circuit counts failures in a row.
 */
export function spreadFailed(
	deliveries: readonly Delivery[],
	hasFailed: (delivery: Delivery) => boolean,
): readonly Delivery[] {
	const failed = deliveries.filter(hasFailed)
	const sent = deliveries.filter((delivery) => !hasFailed(delivery))
	const failedBefore = (at: number): number => Math.floor((at * failed.length) / deliveries.length)
	const spread = deliveries.map((_, at) => {
		const count = failedBefore(at)
		return failedBefore(at + 1) > count ? failed[count] : sent[at - count]
	})
	return spread.filter((delivery) => delivery !== undefined)
}

const sizeOf = ({ row }: Delivery, maxBytes: number): number =>
	maxBytes === Infinity ? 0 : Buffer.byteLength(row.payload)
