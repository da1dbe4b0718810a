import type { Runtime } from '../../core/runtime/runtime.ts'

/** Calls a function at an interval until the returned function is called. */
export function every(runtime: Runtime, intervalMs: number, run: () => void): () => void {
	const fire = () => {
		run()
		cancel = runtime.setTimer(intervalMs, fire)
	}
	let cancel = runtime.setTimer(intervalMs, fire)
	return () => cancel()
}
