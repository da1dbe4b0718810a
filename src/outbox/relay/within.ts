import type { Runtime } from '../../core/runtime/runtime.ts'

/** Resolves when the work does, or after so long. */
export async function withTimeout(
	runtime: Runtime,
	ms: number,
	work: Promise<unknown> | undefined,
): Promise<void> {
	let cancel: (() => void) | undefined
	const timeout = new Promise<void>((resolve) => {
		cancel = runtime.setTimer(ms, resolve)
	})
	await Promise.race([work, timeout])
	cancel?.()
}
