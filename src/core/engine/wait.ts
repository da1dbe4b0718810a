import type { Call } from './call.ts'
import { PARK } from './layer.ts'

/** Ends a call's wait when the time has come, the caller aborts or the deadline passes. None leaves a timer or a listener. */
export function startWait(call: Call, ms: number): void {
	const { options, pipeline, wake, current } = call
	const signal = options?.signal
	const { runtime } = current ?? pipeline
	if (!wake) return
	if (ms === PARK) call.rareState.queuedMs ??= 0
	if (!signal && ms >= 0 && !pipeline.runner) {
		runtime.setTimer(ms, wake)
		return
	}
	const ends: (() => void)[] = []
	const end = () => {
		for (const cancel of ends.splice(0)) cancel()
		wake()
	}
	call.wake = end
	if (ms >= 0) ends.push(runtime.setTimer(ms, end))
	else if (options?.deadline) ends.push(options.deadline.onExpiry(end))
	if (!signal) return
	ends.push(() => signal.removeEventListener('abort', end))
	signal.addEventListener('abort', end)
	// A hook may have aborted just now, and a signal does not tell that twice.
	if (signal.aborted) end()
}
