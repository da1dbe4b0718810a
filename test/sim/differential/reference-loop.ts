import { calculateDelay, classify, type Deadline, type RetryOptions, type Runtime, TimeoutError } from 'yaoki'

type Operation = (context: { readonly signal: AbortSignal; readonly attempt: number }) => unknown

/** A retry around an attempt timeout, as one loop: `pipeline(retry(options), timeout(options.timeoutMs))`. */
export async function retryWithTimeout(
	operation: Operation,
	options: RetryOptions & { readonly maxRetries: number; readonly timeoutMs: number },
	runtime: Runtime,
	caller: { readonly signal?: AbortSignal; readonly deadline?: Deadline } = {},
): Promise<unknown> {
	const { timeoutMs, ...retry } = options
	const { maxRetries, maxElapsedMs = Infinity } = retry
	const outer = [caller.signal, caller.deadline?.signal].filter((signal) => signal !== undefined)
	const startedAt = runtime.now()
	for (let attempt = 0; ; attempt++) {
		// What ends a call between two attempts is its outcome: nothing runs again.
		for (const signal of outer) signal.throwIfAborted()
		try {
			return await runAttempt(operation, attempt, timeoutMs, runtime, outer)
		} catch (error) {
			if (outer.some(({ aborted }) => aborted)) throw error
			const { kind, retryAfterMs } = classify(error)
			if (kind === 'permanent' || kind === 'cancelled' || attempt >= maxRetries) throw error
			const left = Math.min(
				maxElapsedMs - (runtime.now() - startedAt),
				caller.deadline?.remainingMs ?? Infinity,
			)
			if (left <= 0) throw error
			const delayMs = retryAfterMs
				? retryAfterMs + runtime.random() * Math.max(100, retryAfterMs / 4)
				: calculateDelay(attempt, { ...retry, runtime })
			if (delayMs >= left) throw error
			await sleep(delayMs, runtime, outer)
		}
	}
}

/** Ends with the operation, the timeout or the caller, whichever is first, and leaves no timer and no listener behind. */
function runAttempt(
	operation: Operation,
	attempt: number,
	ms: number,
	runtime: Runtime,
	outer: readonly AbortSignal[],
): Promise<unknown> {
	const own = new AbortController()
	return new Promise((resolve, reject) => {
		const stop = onAbort(outer, (reason) => own.abort(reason))
		const cancel = runtime.setTimer(ms, () => own.abort(new TimeoutError('timeout', ms)))
		own.signal.addEventListener('abort', () => reject(own.signal.reason))
		const leave = () => {
			cancel()
			stop()
		}
		// Async, so that an operation that throws synchronously rejects.
		const run = async () => operation({ signal: own.signal, attempt })
		run().then(resolve, reject).finally(leave)
	})
}

/** Ends early when the caller leaves. */
const sleep = (ms: number, runtime: Runtime, outer: readonly AbortSignal[]): Promise<void> =>
	new Promise((resolve) => {
		const stop = onAbort(outer, () => end())
		const cancel = runtime.setTimer(ms, () => end())
		const end = () => {
			cancel()
			stop()
			resolve()
		}
	})

function onAbort(signals: readonly AbortSignal[], listener: (reason: unknown) => void): () => void {
	const entries = signals.map((signal) => [signal, () => listener(signal.reason)] as const)
	for (const [signal, entry] of entries) signal.addEventListener('abort', entry)
	return () => {
		for (const [signal, entry] of entries) signal.removeEventListener('abort', entry)
	}
}
