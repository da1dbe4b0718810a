const nextEventLoopTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Returns the size of the heap after garbage collection: the smallest of several measurements. Needs `--expose-gc`. */
export async function heapBytes(): Promise<number> {
	if (!globalThis.gc) throw new Error('tests of memory run with --expose-gc')
	let least = Infinity
	for (let look = 0; look < 5; look++) {
		// Targets of weak references are released only between two turns of the event loop.
		await nextEventLoopTurn()
		globalThis.gc()
		least = Math.min(least, process.memoryUsage().heapUsed)
	}
	return least
}
