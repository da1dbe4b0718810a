import type { Call } from '../../core/engine/call.ts'
import { goOn, later } from '../../core/engine/drive.ts'
import type { Step } from '../../core/engine/layer.ts'

/**
 * Core's way to run calls that may be answered before their work does, for work that never answers at once. There a call makes its
 * answer only when the work has not answered by the next microtask; a request never has, so its answer is made beforehand.
 */
export function runPending(call: Call, step: Step): Promise<unknown> {
	const answer = later(call)
	goOn(call, step)
	return answer
}
