/**
 * Random durations. A plain number is a constant, the most common case in scenarios. Samplers are created
 * once and precompute what they can, so that a draw costs a few multiplications.
 */
import { logarithm, powerOfE } from './logarithm.ts'

/**
 * A duration in milliseconds: a number, or a distribution to draw from, for example as `serviceTimeMs` of a
 * `ServerModel`. A lognormal is given by its median and its 99th percentile, the figures that dashboards
 * show. `empirical` draws from measured values.
 *
 * @example
 * const serviceTimeMs: Distribution = { kind: 'lognormal', medianMs: 20, p99Ms: 200 }
 */
export type Distribution =
	| number
	| { readonly kind: 'exponential'; readonly meanMs: number }
	| { readonly kind: 'lognormal'; readonly medianMs: number; readonly p99Ms: number }
	/** Draws the absolute value, so that no duration is negative. */
	| { readonly kind: 'normal'; readonly meanMs: number; readonly sdMs: number }
	| { readonly kind: 'uniform'; readonly minMs: number; readonly maxMs: number }
	| { readonly kind: 'empirical'; readonly valuesMs: readonly number[] }

export type Sampler = () => number

/** The 99th percentile of the standard normal distribution. */
const Z99 = 2.3263478740408408

export function sampler(distribution: Distribution, random: () => number): Sampler {
	if (typeof distribution === 'number') return () => distribution
	switch (distribution.kind) {
		case 'exponential':
			return exponential(distribution.meanMs, random)
		case 'lognormal': {
			const { medianMs, p99Ms } = distribution
			const sigma = sigmaOf(medianMs, p99Ms)
			const normal = standardNormal(random)
			return () => medianMs * powerOfE(sigma * normal())
		}
		case 'normal': {
			const { meanMs, sdMs } = distribution
			const normal = standardNormal(random)
			return () => Math.abs(meanMs + sdMs * normal())
		}
		case 'uniform': {
			const { minMs, maxMs } = distribution
			return () => minMs + (maxMs - minMs) * random()
		}
		case 'empirical': {
			const { valuesMs } = distribution
			return () => valuesMs[Math.floor(random() * valuesMs.length)] ?? 0
		}
	}
}

/** Uses 1 minus the draw, which is never 0. */
export const exponential =
	(meanMs: number, random: () => number): Sampler =>
	() =>
		-meanMs * logarithm(1 - random())

/**
 * Marsaglia's polar method, which draws pairs. Box-Muller is shorter but needs a sine, whose last bit differs
 * between versions of an engine. Square roots are exact everywhere.
 */
function standardNormal(random: () => number): Sampler {
	let spare: number | undefined
	return () => {
		if (spare !== undefined) {
			const value = spare
			spare = undefined
			return value
		}
		let [x, y, square] = [0, 0, 0]
		do {
			x = 2 * random() - 1
			y = 2 * random() - 1
			square = x * x + y * y
		} while (square >= 1 || square === 0)
		const factor = Math.sqrt((-2 * logarithm(square)) / square)
		spare = y * factor
		return x * factor
	}
}

const sigmaOf = (medianMs: number, p99Ms: number): number => logarithm(p99Ms / medianMs) / Z99

/** Returns the mean of a distribution, for capacity lines and closed forms. */
export function meanOf(distribution: Distribution): number {
	if (typeof distribution === 'number') return distribution
	switch (distribution.kind) {
		case 'exponential':
			return distribution.meanMs
		case 'lognormal':
			return distribution.medianMs * powerOfE(sigmaOf(distribution.medianMs, distribution.p99Ms) ** 2 / 2)
		case 'normal':
			// Exact only while almost no draw is negative, because draws are made absolute.
			return distribution.meanMs
		case 'uniform':
			return (distribution.minMs + distribution.maxMs) / 2
		case 'empirical':
			return distribution.valuesMs.reduce((sum, value) => sum + value, 0) / distribution.valuesMs.length
	}
}
