import type { Call } from './call.ts'
import { PARK } from './layer.ts'

/** Ends a call's wait when the time has come, the caller aborts or the deadline passes. None leaves a timer or a listener. */
export function pause(call: Call, ms: number): void {
	const { options, plan, wake, at } = call
	const signal = options?.signal
	const { runtime } = at ?? plan
	if (!wake) return
	if (ms === PARK) call.extra.queuedMs ??= 0
	if (!signal && ms >= 0 && !plan.drive) {
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
