import type { Runtime } from '../../core/runtime/runtime.ts'

/** Waits, and not longer than until the signal. Leaves no timer and no listener behind. */
export function sleep(runtime: Runtime, ms: number, signal: AbortSignal | undefined): Promise<void> {
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
