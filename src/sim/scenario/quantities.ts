/** The times, rates and durations of a scenario, and which values are valid. */
import { invalidOption } from '../../core/options/schema.ts'
import { amount, byKind, fields, inOrder, list, type Shape } from './shape.ts'

/** Thirty thousand years. Sums of much longer times lose precision. */
export const MAX_MS = 1e15

/** Checked by `byKind`. */
export const kind: Shape = () => {}
export const time: Shape = amount(0, MAX_MS)
export const positiveTime: Shape = amount(1e-9, MAX_MS)
export const rate: Shape = amount(1e-9, 1e9)
export const withPeriod = (shape: Shape): Shape => inOrder(shape, 'fromMs', 'toMs', 'more')

const distribution = byKind({
	exponential: fields({ kind, meanMs: time }),
	lognormal: inOrder(fields({ kind, medianMs: positiveTime, p99Ms: positiveTime }), 'medianMs', 'p99Ms'),
	normal: fields({ kind, meanMs: time, sdMs: time }),
	uniform: inOrder(fields({ kind, minMs: time, maxMs: time }), 'minMs', 'maxMs'),
	empirical: fields({ kind, valuesMs: list(time, 1) }),
})

export const duration: Shape = (value, path) => {
	if (typeof value === 'number') time(value, path)
	else if (Object(value) !== value)
		invalidOption(path, value, 'a number of milliseconds, or a distribution with a kind')
	else distribution(value, path)
}
