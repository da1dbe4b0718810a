/**
 * Two weights that are easily taken for each other. What is held is the heap's growth between two full collections while
 * the things are kept. What is allocated is everything that was asked of the heap, the garbage too: a growth between two
 * collections would say that a call allocates nothing. It is the growth without a collection, plus what the collections
 * meanwhile took away; so it is exact however small the young generation is, and needs no flag that would make the other
 * parts faster than they are for a user.
 */
import { GCProfiler, getHeapStatistics } from 'node:v8'
import { median, nextLoop } from './harness.ts'

async function heapAfterCollection(): Promise<number> {
	if (!globalThis.gc) throw new Error('run with --expose-gc')
	for (let i = 0; i < 4; i++) {
		globalThis.gc()
		await nextLoop()
	}
	return process.memoryUsage().heapUsed
}

/** Bytes of heap that one of `count` things holds that `make` made; `discard` ends what would outlive it, like a timer. */
export async function bytesHeld<T>(
	count: number,
	make: () => T,
	discard: (thing: T) => void = () => {},
): Promise<number> {
	const runs: number[] = []
	for (let run = 0; run < 3; run++) runs.push(await weighOnce(count, make, discard))
	return Math.round(median(runs))
}

/** Apart, for in a loop an async function holds the things of one round until the next has made its own. */
async function weighOnce<T>(count: number, make: () => T, discard: (thing: T) => void): Promise<number> {
	const before = await heapAfterCollection()
	const things = Array.from({ length: count }, make)
	const after = await heapAfterCollection()
	// Looking at them once more also keeps them from being collected before they are weighed.
	for (const thing of things) discard(thing)
	return (after - before) / count
}

/** Bytes that one call allocates, with the work's own promise and the caller's await, once the code is warm. */
export async function bytesAllocated(call: () => Promise<unknown>): Promise<number> {
	const calls = 2_000
	for (let i = 0; i < 10 * calls; i++) await call()
	const runs: number[] = []
	for (let run = 0; run < 9; run++) {
		await heapAfterCollection()
		const collections = new GCProfiler()
		collections.start()
		const before = getHeapStatistics().used_heap_size
		for (let i = 0; i < calls; i++) await call()
		let allocated = getHeapStatistics().used_heap_size - before
		for (const { beforeGC, afterGC } of collections.stop()?.statistics ?? [])
			allocated += beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize
		runs.push(allocated / calls)
	}
	return Math.round(median(runs))
}
