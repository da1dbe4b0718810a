/**
 * Merges the timelines of many runs: steps of equal length, and the median and range of each step. Runs without a fixed duration
 * differ in the length of their steps, but always by a power of two, so steps can be merged until they agree.
 */
import type { SimulationResult } from '../measure/result.ts'

/** Reads one series of a run, a value per step. */
export type ReadSeries = (result: SimulationResult) => readonly number[]

/** Percentiles over the runs, by step. */
export interface TimelinePercentiles {
	readonly p10: readonly number[]
	readonly p50: readonly number[]
	readonly p90: readonly number[]
}

/** Returns the step length that the steps of all runs can be merged to. */
export const commonStepMs = (runs: readonly SimulationResult[]): number =>
	Math.max(1, ...runs.map(({ timeline }) => timeline.stepMs))

/** Returns percentiles of rates per second, for `length` steps of `stepMs`. */
export function timelinePercentiles(
	runs: readonly SimulationResult[],
	read: ReadSeries,
	stepMs: number,
	length: number,
): TimelinePercentiles {
	const rates = runs.map((run) => mergeSteps(read(run), stepMs / run.timeline.stepMs, 1_000 / stepMs))
	const steps = Array.from({ length }, (_, step) =>
		rates.map((rate) => rate[step] ?? 0).sort((a, b) => a - b),
	)
	const percentile = (share: number) =>
		steps.map((values) => values[Math.round((values.length - 1) * share)] ?? 0)
	return { p10: percentile(0.1), p50: percentile(0.5), p90: percentile(0.9) }
}

/** Returns the sums of `factor` neighbors each, multiplied by `scale`. */
function mergeSteps(values: readonly number[], factor: number, scale: number): readonly number[] {
	const sums = new Array<number>(Math.ceil(values.length / factor)).fill(0)
	for (const [index, value] of values.entries()) {
		const at = Math.floor(index / factor)
		sums[at] = (sums[at] ?? 0) + value * scale
	}
	return sums
}

/** Returns the step-by-step sum of several series. */
export function sumSeries(series: readonly (readonly number[])[]): readonly number[] {
	const length = Math.max(0, ...series.map((values) => values.length))
	return Array.from({ length }, (_, step) => series.reduce((sum, values) => sum + (values[step] ?? 0), 0))
}
