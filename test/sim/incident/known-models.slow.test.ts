/**
 * Every replay of a known model is within five percentage points of the truth (ten, where other callers take the capacity) and has the same verdict on recovery, or the incident has a caveat
 * and alternatives whose range contains the truth. PRINT_MATRIX=1 prints the table.
 */
import { afterAll, describe, expect, test } from 'vitest'
import type { Incident } from '../../../src/sim/incident/incident.ts'
import { scenarioFromIncident } from '../../../src/sim/incident/reader.ts'
import {
	KNOWN_MODELS,
	type KnownModel,
	RECORDED,
	REPLAYED,
	record,
	replayOf,
	truthOf,
	type Verdict,
	WORKERS,
} from './known-models.ts'

/** Runs in which an overload ends earlier or later differ by a few points: a cell that differs is decided by the mean of several. */
const [ONE, MANY] = [[1], [1, 2, 3, 4, 5]]

/** The caveats that come with alternatives. */
const RANGES: ReadonlySet<string> = new Set([
	'hidden-end',
	'unseen-edge',
	'estimated-workers',
	'unknown-workers',
])

interface Cell {
	readonly truth: Verdict
	readonly replay: Verdict
	/** Undefined if the replay is right without it. */
	readonly range: readonly [number, number] | undefined
	readonly caveats: readonly string[]
	readonly isRight: boolean
}

const isNear = (a: Verdict, b: Verdict, maxError: number) =>
	Math.abs(a.goodShare - b.goodShare) <= maxError && a.recovers === b.recovers

function compare({ scenario, alternatives, summary }: Incident, model: KnownModel, name: string): Cell {
	const policy = REPLAYED[name] ?? []
	const { maxError = 0.05 } = model
	// Alternatives run once, which is accurate to about three points.
	const slack = model.maxError ?? 0.03
	const caveats = summary.caveats.map(({ code }) => code).filter((code) => RANGES.has(code))
	for (const seeds of [ONE, MANY]) {
		const [truth, replay] = [truthOf(model, policy, seeds), replayOf(scenario, policy, seeds)]
		if (isNear(truth, replay, maxError)) return { truth, replay, range: undefined, caveats, isRight: true }
		if (seeds === ONE) continue
		const all = [replay, ...alternatives.map((other) => replayOf(other, policy, ONE))]
		const shares = all.map(({ goodShare }) => goodShare)
		const [min, max] = [Math.min(...shares), Math.max(...shares)]
		const isIn = truth.goodShare >= min - slack && truth.goodShare <= max + slack
		const isVerdictIn = all.some(({ recovers }) => recovers === truth.recovers)
		return { truth, replay, range: [min, max], caveats, isRight: isIn && isVerdictIn && caveats.length > 0 }
	}
	throw new Error('the last seeds decide')
}

const rows: string[] = []
const percent = (share: number) => `${Math.round(100 * share)} %`
const verdict = ({ goodShare, recovers }: Verdict) => `${percent(goodShare)}, ${recovers ? 'yes' : 'no'}`

afterAll(() => {
	if (process.env['PRINT_MATRIX'])
		console.log(
			[
				'| model | recorded | workers | replayed | truth | replay | range | caveats |',
				'|---|---|---|---|---|---|---|---|',
				...rows,
			].join('\n'),
		)
})

describe.each(Object.entries(KNOWN_MODELS))('%s', (modelName, model) => {
	describe.each(Object.entries(RECORDED))('recorded with %s', (recorded, make) => {
		const lines = record(model, make)
		const others = Object.keys(REPLAYED).filter((name) => name !== recorded)

		describe.each([
			['given', WORKERS],
			['estimated', undefined],
		])('workers %s', (given, workers) => {
			const incident = scenarioFromIncident(lines, { workers })

			test.each(others)('replayed with %s', (name) => {
				const { truth, replay, range, caveats, isRight } = compare(incident, model, name)
				const shown = range ? `${percent(range[0])} to ${percent(range[1])}` : ''
				const cells = [
					modelName,
					recorded,
					given,
					name,
					verdict(truth),
					verdict(replay),
					shown,
					caveats.join(' '),
				]
				rows.push(`| ${cells.join(' | ')} |`)
				expect(isRight, rows.at(-1)).toBe(true)
			})
		})
	})
})
