/**
 * Many dead letters, a batch at a time: a transaction over a million rows would lock and log them all, and could tell nothing on its way. Only
 * those that were dead at the beginning are taken. Relays are at work meanwhile, and what dies again behind our back would otherwise be replayed
 * again, without an end.
 */
import { notify } from '../../core/engine/hooks.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Store, StoreFilter } from '../store/store.ts'
import { sleep } from '../timing/sleep.ts'
import type { BatchOptions } from './options.ts'

const BATCH = 1_000

/** Does something to the oldest that match, at most `limit`, and answers their ids. */
export type BatchStep = (filter: StoreFilter, limit: number) => Promise<readonly string[]>

/** The same dead letters and none that die later, by the database's clock. */
export async function deadByNow(store: Store, filter: StoreFilter): Promise<StoreFilter> {
	const end = Math.floor(await store.now()) + 1
	return { ...filter, until: Math.min(end, filter.until ?? end) }
}

/**
 * Goes through all that match. Answers how many there were, `before` included, and whether the signal ended it. Between two batches everybody
 * else has a turn: a store that works in this thread answers by promises alone, and for the whole of 200,000 no timer came and no signal was heard.
 */
export async function byBatches(
	runtime: Runtime,
	filter: StoreFilter,
	step: BatchStep,
	options: BatchOptions,
	before = 0,
): Promise<{ readonly done: number; readonly isAborted: boolean }> {
	let done = before
	let isFirst = true
	for (const part of partsOf(filter)) {
		let count: number
		do {
			if (!isFirst) await sleep(runtime, 0, options.signal)
			isFirst = false
			if (options.signal?.aborted) return { done, isAborted: true }
			count = (await step(part, BATCH)).length
			done += count
			if (count > 0) tellProgress(options, done)
		} while (count === BATCH)
	}
	return { done, isAborted: false }
}

export function tellProgress({ onProgress }: BatchOptions, done: number): void {
	if (onProgress) notify('onProgress', onProgress, { done })
}

/** A long list of ids is asked for in parts as well; no id at all asks for nothing. */
function* partsOf(filter: StoreFilter): Generator<StoreFilter> {
	const { ids } = filter
	if (!ids) yield filter
	else
		for (let from = 0; from < ids.length; from += BATCH)
			yield { ...filter, ids: ids.slice(from, from + BATCH) }
}
