/** Means over several runs, with confidence intervals. */

/**
 * A mean over runs with its 95 % confidence interval. With a single run the interval is the mean itself.
 * Without runs, everything but `count` is NaN: a mean of 0 would make a policy that never recovers look best.
 */
export interface Estimate {
	readonly mean: number
	readonly low: number
	readonly high: number
	/** Standard deviation between runs, and the number of runs. */
	readonly sd: number
	readonly count: number
	readonly min: number
	readonly max: number
}

export function estimate(values: readonly number[]): Estimate {
	const count = values.length
	if (count === 0) return EMPTY
	const mean = values.reduce((sum, value) => sum + value, 0) / count
	const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
	const sd = count < 2 ? 0 : Math.sqrt(squares / (count - 1))
	const half = count < 2 ? 0 : (studentQuantile(count - 1) * sd) / Math.sqrt(count)
	return {
		mean,
		low: mean - half,
		high: mean + half,
		sd,
		count,
		min: values.reduce((least, value) => Math.min(least, value), Infinity),
		max: values.reduce((greatest, value) => Math.max(greatest, value), -Infinity),
	}
}

const EMPTY: Estimate = { mean: NaN, low: NaN, high: NaN, sd: NaN, count: 0, min: NaN, max: NaN }

export function standardErrors(ours: Spread, theirs: Spread): number {
	const error = Math.sqrt(ours.sd ** 2 / ours.count + theirs.sd ** 2 / theirs.count)
	return ours.mean === theirs.mean ? 0 : (ours.mean - theirs.mean) / error
}

type Spread = Pick<Estimate, 'mean' | 'sd' | 'count'>

/** The 97.5th percentile of Student's t distribution for up to 10 degrees of freedom, where the expansion is too coarse. */
const SMALL_SAMPLES = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281]
const Z = 1.959963984540054

export function studentQuantile(freedom: number): number {
	const known = SMALL_SAMPLES[freedom - 1]
	if (known !== undefined) return known
	const [third, fifth] = [Z ** 3, Z ** 5]
	return Z + (third + Z) / (4 * freedom) + (5 * fifth + 16 * third + 3 * Z) / (96 * freedom ** 2)
}
