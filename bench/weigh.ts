/**
 * Two measures of memory. Held bytes are the growth of the heap between two full collections while the objects are alive.
 * Allocated bytes include garbage: the growth of the heap plus everything that collections freed in the meantime. This is
 * exact for any size of the young generation, and needs no flag that would make the other parts faster than for a user.
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

/** Returns the held bytes of one object created by `make`, measured over `count` of them. `discard` stops its timers. */
export async function bytesHeld<T>(
	count: number,
	make: () => T,
	discard: (thing: T) => void = () => {},
): Promise<number> {
	const runs: number[] = []
	for (let run = 0; run < 3; run++) runs.push(await weighOnce(count, make, discard))
	return Math.round(median(runs))
}

/** A separate function, because a loop in an async function keeps the objects of one round until the next has created its own. */
async function weighOnce<T>(count: number, make: () => T, discard: (thing: T) => void): Promise<number> {
	const before = await heapAfterCollection()
	const things = Array.from({ length: count }, make)
	const after = await heapAfterCollection()
	// This read also prevents the collection of the objects before they are measured.
	for (const thing of things) discard(thing)
	return (after - before) / count
}

/** Returns the bytes that one call allocates after warm-up, including the operation's promise and the caller's await. */
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
