/** Waits that leave no timer and no listener behind. */
import type { Runtime } from './runtime.ts'

/** Resolves after `ms`, or when the signal is aborted. */
export function sleep(runtime: Runtime, ms: number, signal?: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal?.aborted) {
			resolve()
			return
		}
		const end = (): void => {
			cancel()
			signal?.removeEventListener('abort', end)
			resolve()
		}
		const cancel = runtime.setTimer(ms, end)
		signal?.addEventListener('abort', end)
	})
}

/** Resolves when the promise resolves, or after `ms`. Rejects if the promise rejects before. */
export async function withTimeout(
	runtime: Runtime,
	ms: number,
	promise: Promise<unknown> | undefined,
): Promise<void> {
	let cancel: (() => void) | undefined
	const timeout = new Promise<void>((resolve) => {
		cancel = runtime.setTimer(ms, resolve)
	})
	try {
		await Promise.race([promise, timeout])
	} finally {
		cancel?.()
	}
}
