import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidArgumentError, InvalidOptionError } from 'yaoki'
import { type Scenario, type SimulationResult, simulate } from 'yaoki/sim'
import { valid } from './valid.ts'

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const small: Scenario = { ...valid, durationMs: 800, maxEvents: 3_000 }

/** Every path in it, as a list of names. */
function places(value: unknown, path: readonly string[] = []): (readonly string[])[] {
	if (Object(value) !== value) return [path]
	return [path, ...Object.entries(value as object).flatMap(([name, one]) => places(one, [...path, name]))]
}

const PLACES = places(small).slice(1)
/** Values that are meaningful somewhere. */
const WORDS = [...new Set(PLACES.flatMap((path) => path.at(-1) ?? []))].filter((word) => !/^\d+$/.test(word))

const odd: fc.Arbitrary<Json> = fc.oneof(
	fc.constantFrom<Json>(
		null,
		true,
		false,
		'',
		'0',
		-1,
		0,
		1,
		0.5,
		2,
		1e3,
		1e15,
		1e16,
		1e308,
		-0,
		5e-324,
		[],
		{},
		[[]],
		[null],
	),
	fc.constantFrom<Json>(
		'api',
		'row',
		'optimistic-lock',
		'web',
		'careful',
		'idle',
		'hang',
		'closed',
		'trace',
		'exponential',
		'__proto__',
	),
	fc.double({ noNaN: true, noDefaultInfinity: true }),
	fc.integer({ min: -10, max: 10_000 }),
	fc.constantFrom(...PLACES).map((path) => at(small, path) as Json),
)

type Change =
	| { readonly kind: 'set'; readonly path: readonly string[]; readonly value: Json }
	| { readonly kind: 'drop'; readonly path: readonly string[] }
	| { readonly kind: 'add'; readonly path: readonly string[]; readonly name: string; readonly value: Json }

const place = fc.constantFrom(...PLACES)
/** Mostly meaningful values, so that many changed scenarios run. */
const figure = fc.oneof(
	fc.integer({ min: 0, max: 3_000 }),
	fc.integer({ min: 1, max: 9 }),
	fc.double({ min: 0, max: 1, noNaN: true }),
)
const numeric = fc.constantFrom(...PLACES.filter((path) => typeof at(small, path) === 'number'))
const change: fc.Arbitrary<Change> = fc.oneof(
	{ weight: 14, arbitrary: fc.record({ kind: fc.constant('set' as const), path: numeric, value: figure }) },
	{ weight: 4, arbitrary: fc.record({ kind: fc.constant('set' as const), path: place, value: odd }) },
	{ weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), path: place }) },
	{
		weight: 1,
		arbitrary: fc.record({
			kind: fc.constant('add' as const),
			path: place,
			name: fc.constantFrom(...WORDS, 'runtime', 'classify', 'toString'),
			value: odd,
		}),
	},
)

function at(value: unknown, path: readonly string[]): unknown {
	return path.reduce<unknown>(
		(inner, name) => (Object(inner) === inner ? Reflect.get(inner as object, name) : undefined),
		value,
	)
}

/** Applies the changes; paths that an earlier change removed are skipped. */
function apply(scenario: object, { path, ...change }: Change): void {
	const inner = change.kind === 'add' ? path : path.slice(0, -1)
	const target = at(scenario, inner)
	if (typeof target !== 'object' || target === null) return
	const name = change.kind === 'add' ? change.name : (path.at(-1) ?? '')
	if (change.kind === 'drop') Reflect.deleteProperty(target, name)
	else
		Object.defineProperty(target, name, {
			value: change.value,
			enumerable: true,
			configurable: true,
			writable: true,
		})
}

const mutated = fc.array(change, { minLength: 1, maxLength: 4 }).map((changes): Scenario => {
	const scenario: Scenario = structuredClone(small)
	for (const one of changes) apply(scenario, structuredClone(one))
	// As from a file.
	const read = JSON.parse(JSON.stringify(scenario)) as Scenario
	// A random limit may be too high for a test.
	return read.maxEvents !== undefined && read.maxEvents > 3_000 ? { ...read, maxEvents: 3_000 } : read
})

/** Returns the result, or the InvalidOptionError. Throws anything else. */
function meet(scenario: Scenario): SimulationResult | InvalidOptionError {
	try {
		return simulate({ maxEvents: 3_000, ...scenario })
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
}

describe('a randomly changed scenario', () => {
	it('runs to its end, or is rejected with a path', () => {
		const ends = { ran: 0, rejected: 0 }
		fc.assert(
			fc.property(mutated, (scenario) => {
				const met = meet(scenario)
				if (met instanceof InvalidOptionError) {
					ends.rejected++
					expect(met.message).toMatch(/^(Invalid|Unknown) option "/)
					return
				}
				ends.ran++
				expect(met.endedBy).toMatch(/^(duration|idle|recovered|event-limit)$/)
				expect(Number.isFinite(met.endedAtMs)).toBe(true)
				for (const { calls, good, late, failed, unfinished } of Object.values(met.clients)) {
					expect(good + late + failed + unfinished).toBe(calls)
					expect(unfinished).toBeGreaterThanOrEqual(0)
				}
				for (const { utilization } of Object.values(met.services))
					expect(utilization).toBeLessThanOrEqual(1 + 1e-9)
			}),
			{ numRuns: 1_500 },
		)
		// Both happen often.
		expect(Math.min(ends.ran, ends.rejected)).toBeGreaterThan(200)
	})

	it('gives the same bytes twice, if it runs', () => {
		fc.assert(
			fc.property(mutated, (scenario) => {
				const [one, other] = [meet(scenario), meet(structuredClone(scenario))]
				if (one instanceof InvalidOptionError) expect(String(other)).toBe(String(one))
				else expect(JSON.stringify(other)).toBe(JSON.stringify(one))
			}),
			{ numRuns: 200 },
		)
	})
})

it('arbitrary JSON is rejected', () => {
	fc.assert(
		fc.property(fc.jsonValue(), (value) => {
			expect(meet({ ...(value as object) } as Scenario)).toBeInstanceOf(InvalidOptionError)
			const isScenario = Object(value) === value && !Array.isArray(value)
			expect(() => simulate(value as never)).toThrow(isScenario ? InvalidOptionError : InvalidArgumentError)
		}),
		{ numRuns: 300 },
	)
})
