/**
 * Processes many messages in batches: one transaction over a million rows would lock and log all of them,
 * without progress.
 */
import { notify } from '../../core/options/hooks.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import type { OutboxStore, StoreFilter } from '../store/store.ts'
import type { BatchOptions } from './options.ts'

const BATCH_SIZE = 1_000

/** Processes the oldest matching messages, at most `limit`, and returns their ids. */
export type BatchStep = (filter: StoreFilter, limit: number) => Promise<readonly string[]>

/** Returns the step, followed by a report of the number of messages that it changed. */
export const reporting =
	(step: BatchStep, onChanged: (count: number) => void): BatchStep =>
	async (filter, limit) => {
		const ids = await step(filter, limit)
		if (ids.length > 0) onChanged(ids.length)
		return ids
	}

/** Restricts a filter to messages that are dead now, so that failing ones are not replayed endlessly. */
export async function deadByNow(store: OutboxStore, filter: StoreFilter): Promise<StoreFilter> {
	const end = Math.floor(await store.now()) + 1
	return { ...filter, until: Math.min(end, filter.until ?? end) }
}

/**
 * Processes all matching messages. Returns their number, including `before`, and whether the signal ended it.
 * Yields to the event loop between batches: an in-process store responds by microtasks only, and 200,000
 * messages blocked all timers and signals.
 */
export async function runBatches(
	runtime: Runtime,
	filter: StoreFilter,
	step: BatchStep,
	options: BatchOptions,
	before = 0,
): Promise<{ readonly done: number; readonly isAborted: boolean }> {
	let done = before
	let isFirst = true
	for (const part of splitIds(filter)) {
		let count: number
		do {
			if (!isFirst) await sleep(runtime, 0, options.signal)
			isFirst = false
			if (options.signal?.aborted) return { done, isAborted: true }
			count = (await step(part, BATCH_SIZE)).length
			done += count
			if (count > 0) reportProgress(options, done)
		} while (count === BATCH_SIZE)
	}
	return { done, isAborted: false }
}

export function reportProgress({ onProgress }: BatchOptions, done: number): void {
	if (onProgress) notify('onProgress', onProgress, { done })
}

/** Splits a long list of ids into batches; an empty list yields nothing. */
function* splitIds(filter: StoreFilter): Generator<StoreFilter> {
	const { ids } = filter
	if (!ids) yield filter
	else
		for (let from = 0; from < ids.length; from += BATCH_SIZE)
			yield { ...filter, ids: ids.slice(from, from + BATCH_SIZE) }
}
