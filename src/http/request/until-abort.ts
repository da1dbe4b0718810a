/**
 * Returns the result of a user's function. Rejects with its error, or as soon as the signal is aborted: the function may ignore it, and is not
 * called after an abort.
 */
export async function untilAbort<T>(signal: AbortSignal, run: () => T): Promise<Awaited<T>> {
	signal.throwIfAborted()
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
