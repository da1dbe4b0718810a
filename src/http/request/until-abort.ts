/** Returns the result of a user's function. Rejects with its error, or as soon as the signal is aborted: the function may ignore it. */
export async function untilAbort<T>(signal: AbortSignal, run: () => T): Promise<Awaited<T>> {
	let onAbort = () => {}
	const aborted = new Promise<never>((_, reject) => {
		onAbort = () => reject(signal.reason)
	})
	signal.addEventListener('abort', onAbort)
	try {
		const result = await Promise.race([run(), aborted])
		signal.throwIfAborted()
		return result
	} finally {
		signal.removeEventListener('abort', onAbort)
	}
}
