/** The active attempts of a call, as a linked list without an object of its own: most calls have one attempt. The latest is the first. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Attempt } from './attempt.ts'

/** Returns the list without this attempt. */
export function without(first: Attempt | undefined, attempt: Attempt): Attempt | undefined {
	if (first === attempt) return attempt.sibling
	if (first) first.sibling = without(first.sibling, attempt)
	return first
}

export function cancelAll(first: Attempt | undefined, code: number, details: string, runtime: Runtime): void {
	for (let attempt = first; attempt; attempt = attempt.sibling) attempt.cancel(code, details, runtime)
}

/** Returns the attempt that has sent the most messages, the earliest of them if there are several. */
export function mostAdvanced(first: Attempt | undefined): Attempt | undefined {
	let best = first
	for (let attempt = first; attempt; attempt = attempt.sibling)
		if (best && attempt.sent >= best.sent) best = attempt
	return best
}
