import type { Call } from '../../core/engine/call.ts'
import { advance, deferResult } from '../../core/engine/interruptible-runner.ts'
import type { Step } from '../../core/engine/layer.ts'

/**
 * Core's way to run calls that may be answered before their work does, for work that never answers at once. There a call makes its
 * answer only when the work has not answered by the next microtask; a request never has, so its answer is made beforehand.
 */
export function runPending(call: Call, step: Step): Promise<unknown> {
	const answer = deferResult(call)
	advance(call, step)
	return answer
}
