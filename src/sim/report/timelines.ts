/**
 * The timelines of many runs as one: steps of equal length, and of each step the middle and the range. Runs that ended by
 * themselves have steps of different lengths, but always by a power of two, so they can be joined until they agree.
 */
import type { SimulationResult } from '../measure/result.ts'

/** What is read off a run, step by step. */
export type Read = (result: SimulationResult) => readonly number[]

export interface Overlay {
	/** By step: the median over the runs, and the tenth and ninetieth percentile. */
	readonly middle: readonly number[]
	readonly low: readonly number[]
	readonly high: readonly number[]
}

/** The step that all of them can be joined to. */
export const commonStep = (runs: readonly SimulationResult[]): number =>
	Math.max(1, ...runs.map(({ timeline }) => timeline.stepMs))

export function overlay(
	runs: readonly SimulationResult[],
	read: Read,
	stepMs: number,
	length: number,
): Overlay {
	const rows = runs.map((run) => joined(read(run), stepMs / run.timeline.stepMs, 1_000 / stepMs))
	const steps = Array.from({ length }, (_, step) => rows.map((row) => row[step] ?? 0).sort((a, b) => a - b))
	const quantile = (share: number) =>
		steps.map((values) => values[Math.round((values.length - 1) * share)] ?? 0)
	return { middle: quantile(0.5), low: quantile(0.1), high: quantile(0.9) }
}

/** Sums of `factor` neighbours, each times `scale`. */
function joined(values: readonly number[], factor: number, scale: number): readonly number[] {
	const sums = new Array<number>(Math.ceil(values.length / factor)).fill(0)
	for (const [index, value] of values.entries()) {
		const at = Math.floor(index / factor)
		sums[at] = (sums[at] ?? 0) + value * scale
	}
	return sums
}

/** The sums of several rows, step by step. */
export function added(rows: readonly (readonly number[])[]): readonly number[] {
	const length = Math.max(0, ...rows.map((row) => row.length))
	return Array.from({ length }, (_, step) => rows.reduce((sum, row) => sum + (row[step] ?? 0), 0))
}
