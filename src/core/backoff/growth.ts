/** How long a step is before the cap and the jitter. `attempt` counts from 0. */
import { checkRange } from '../options/schema.ts'
import type { BackoffSettings, NamedGrowth } from './settings.ts'

export const GROWTHS: Record<NamedGrowth, (base: number, attempt: number, factor: number) => number> = {
	exponential: (base, attempt, factor) => base * factor ** attempt,
	linear: (base, attempt) => base * (attempt + 1),
	constant: (base) => base,
	fibonacci(base, attempt) {
		let [step, next] = [base, base]
		// Past the largest number both are Infinity for good: a late attempt need not count all the way.
		for (let n = 0; n < attempt && next < Infinity; n++) [step, next] = [next, step + next]
		return step
	},
}

/** min(growth(attempt), cap). Infinity, which a curve reaches around attempt 1,000, ends at the cap like all else. */
export function stepMs(settings: BackoffSettings, attempt: number): number {
	const { growth, baseDelayMs, maxDelayMs, factor } = settings
	let step: number
	if (typeof growth === 'function') {
		step = growth(attempt)
		checkRange('growth(attempt)', step, 0, Infinity)
	} else if (typeof growth === 'string') {
		// 0 * Infinity is not a number, and a base of 0 means no wait at any attempt.
		step = baseDelayMs && GROWTHS[growth](baseDelayMs, attempt, factor)
	} else {
		step = growth[Math.min(attempt, growth.length - 1)] ?? 0
	}
	return Math.min(step, maxDelayMs)
}
