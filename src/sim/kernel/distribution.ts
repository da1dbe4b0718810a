/**
 * Durations by chance. A plain number is a constant, for most scenarios have more of those than of anything else. Samplers
 * are made once and hold what can be computed ahead; a draw is a few multiplications.
 */
import { logarithm, powerOfE } from './logarithm.ts'

/**
 * How long something takes, in milliseconds: a number, or a law that it is drawn from. A lognormal is told by its median and
 * its 99th percentile, which is what people know of their services. `empirical` draws from measured values as they are.
 *
 * @example
 * const serviceTime: Distribution = { kind: 'lognormal', medianMs: 20, p99Ms: 200 }
 */
export type Distribution =
	| number
	| { readonly kind: 'exponential'; readonly meanMs: number }
	| { readonly kind: 'lognormal'; readonly medianMs: number; readonly p99Ms: number }
	/** Its absolute value, so that nothing takes less than no time. */
	| { readonly kind: 'normal'; readonly meanMs: number; readonly sdMs: number }
	| { readonly kind: 'uniform'; readonly minMs: number; readonly maxMs: number }
	| { readonly kind: 'empirical'; readonly valuesMs: readonly number[] }

/** Draws one duration. */
export type Sampler = () => number

/** The 99th percentile of the standard normal law. */
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

/** 1 minus the draw, for that is never 0 and has a logarithm. */
export const exponential =
	(meanMs: number, random: () => number): Sampler =>
	() =>
		-meanMs * logarithm(1 - random())

/**
 * Marsaglia's polar way, in pairs. Box and Muller's is shorter, but needs a sine, and engines of the same make differ in the last bit
 * of those; of a square root they do not.
 */
function standardNormal(random: () => number): Sampler {
	let spare: number | undefined
	return () => {
		if (spare !== undefined) {
			const kept = spare
			spare = undefined
			return kept
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

/** The mean that the law has, for capacity lines and closed forms. */
export function meanOf(distribution: Distribution): number {
	if (typeof distribution === 'number') return distribution
	switch (distribution.kind) {
		case 'exponential':
			return distribution.meanMs
		case 'lognormal':
			return distribution.medianMs * powerOfE(sigmaOf(distribution.medianMs, distribution.p99Ms) ** 2 / 2)
		case 'normal':
			// Of the absolute value this is the mean only while next to nothing lies below zero.
			return distribution.meanMs
		case 'uniform':
			return (distribution.minMs + distribution.maxMs) / 2
		case 'empirical':
			return distribution.valuesMs.reduce((sum, value) => sum + value, 0) / distribution.valuesMs.length
	}
}
