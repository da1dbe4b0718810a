import type { Call } from '../../core/engine/call.ts'
import { answered, goOn, later, listen } from '../../core/engine/drive.ts'
import type { Step } from '../../core/engine/layer.ts'
import { begun, isWait } from '../../core/engine/runner.ts'

/**
 * Core's way to run calls that may be answered before their work does, for work that never answers at once. There a call looks again in
 * the next microtask, and is spared much if the work has answered by then; a request never has.
 */
export function driveSlow(call: Call, step: Step): Promise<unknown> {
	const answer = later(call)
	if (isWait(step)) {
		goOn(call, step)
		return answer
	}
	const turn = call.beginTurn()
	try {
		begun(call).then(
			(value) => answered(call, turn, true, value),
			(error) => answered(call, turn, false, error),
		)
	} catch (error) {
		answered(call, turn, false, error)
	}
	listen(call, turn)
	return answer
}
