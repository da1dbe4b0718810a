/** Runs a study as the command line does, and formats its figures as the pages do, to compare them with a table. */
import { expect } from 'vitest'
import { type MeasureName, readMeasure } from '../../../src/sim/measure/measures.ts'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { replicate } from '../../../src/sim/run/replicate.ts'
import { listCases, type Study } from '../../../src/sim/run/study.ts'
import { page, table } from '../../examples/markdown.ts'

/** A value of a run. */
export type Figure = MeasureName | ((result: SimulationResult) => number)

/** A column of a table: heading, figure, and the format of its mean. */
export type Column = readonly [head: string, figure: Figure, write: (mean: number) => string]

export class Studied {
	readonly names: readonly string[]
	readonly #runs: ReadonlyMap<string, readonly SimulationResult[]>

	constructor(study: Study) {
		const { replications } = study
		const cases = listCases(study)
		this.names = cases.map(({ name }) => name)
		this.#runs = new Map(
			cases.map(({ name, scenario }) => [name, replicate(scenario, { replications }).runs]),
		)
	}

	/** Returns one value per seed. */
	values(name: string, figure: Figure): readonly number[] {
		return (this.#runs.get(name) ?? []).map((run) => {
			const value = typeof figure === 'string' ? readMeasure(figure, run) : figure(run)
			if (value === null) throw new Error(`${name}: the run with seed ${run.seed} has no such figure`)
			return value
		})
	}

	mean(name: string, figure: Figure): number {
		const values = this.values(name, figure)
		if (values.length === 0) throw new Error(`there is no variant '${name}'`)
		return values.reduce((sum, value) => sum + value, 0) / values.length
	}

	/** Returns one table row per variant. */
	rows(columns: readonly Column[]): string[][] {
		return this.names.map((name) => [
			name,
			...columns.map(([, figure, write]) => write(this.mean(name, figure))),
		])
	}

	/** Expects that the page has this table with these figures. */
	expectTable(path: string, head: string, columns: readonly Column[]): void {
		const shown = table(page(path), head, ...columns.map(([title]) => title))
		expect(shown).toEqual(this.rows(columns))
	}
}

/** Sums a series of the timeline between two times. */
export function between(
	{ timeline: { stepMs } }: SimulationResult,
	steps: readonly number[] | undefined,
	fromMs: number,
	toMs: number,
): number {
	return (steps ?? []).slice(fromMs / stepMs, toMs / stepMs).reduce((sum, value) => sum + value, 0)
}

/** Returns the share of good calls among those that a client started between two times. */
export const goodBetween =
	(client: string, fromMs: number, toMs: number): Figure =>
	(result) => {
		const line = result.timeline.clients[client]
		const [good, bad] = [line?.startedGood, line?.startedBad].map((steps) =>
			between(result, steps, fromMs, toMs),
		)
		return (good ?? 0) / ((good ?? 0) + (bad ?? 0))
	}

const number = (value: number, digits: number): string =>
	value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })

export const whole = (value: number): string => number(value, 0)
export const perSecond = (value: number): string => `${number(value, 0)} /s`
export const times = (value: number): string => number(value, 2)
export const tenths = (value: number): string => number(value, 1)
export const percent = (share: number): string => `${number(share * 100, 1)} %`
export const seconds = (ms: number): string => `${number(ms / 1_000, 1)} s`
export const milliseconds = (ms: number): string => `${number(ms, 0)} ms`
