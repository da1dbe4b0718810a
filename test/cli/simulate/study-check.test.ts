import { describe, expect, test } from 'vitest'
import { type GridStudy, scenarios } from 'yaoki/sim'
import { CliError } from '../../../src/cli/errors.ts'
import { checkedStudy } from '../../../src/cli/simulate/study-check.ts'
import { pair, small } from './files.ts'

function refusal(given: unknown): string {
	try {
		checkedStudy(given, 'dir/mine.json')
	} catch (error) {
		if (error instanceof CliError && error.kind === 'usage') return error.message
		throw error
	}
	throw new Error('it should have been refused')
}

const grid: GridStudy = {
	title: 'A map',
	description: '',
	x: { label: 'load', values: [1, 2] },
	y: { label: 'length', values: [10], format: String },
	panels: ['one'],
	at: (x) => ({ ...small, services: { api: { serviceTime: 5, workers: x } } }),
}

const api = { ...small.services['api'] }

describe('a file', () => {
	test('with a scenario is a study of one, named after it or after the file', () => {
		expect(checkedStudy(small, 'dir/mine.json')).toMatchObject({ title: 'mine', variants: { mine: small } })
		expect(checkedStudy({ ...small, name: 'Ours' }, 'dir/mine.ts')).toMatchObject({ title: 'Ours' })
	})

	test.each([
		['variants', pair],
		['a map', grid],
	])('with %s is that study', (_, study) => {
		expect(checkedStudy(study, 'mine.ts')).toBe(study)
	})

	test.each(Object.entries(scenarios))('may be as %s, which is shipped', async (_, load) => {
		const study = await load()
		expect(checkedStudy(study, 'mine.ts')).toBe(study)
	})
})

describe('what can not work is told by its place in the file, what it got, and what it takes', () => {
	test.each([
		[
			'a number',
			5,
			'Invalid option "the default export or the whole file": expected a scenario or a study, as an object, got 5',
		],
		['a list', [small], 'the default export or the whole file: got [[object Object]]; takes'],
		['null', null, 'the default export or the whole file: got null; takes'],
		[
			'a scenario',
			{ ...small, services: { api: { ...api, workers: -1 } } },
			'Invalid option "services.api.workers": expected a whole number, 1 or more, got -1',
		],
		[
			'an unknown field of a scenario',
			{ ...small, polices: {} },
			'Invalid option "polices": expected nothing, for there is no such field here, only name,, got [object Object]',
		],
		[
			'a layer of a policy',
			{ ...small, policies: { careful: [{ retry: { maxRetries: -1 } }] } },
			'policies.careful[0].retry.maxRetries: got -1; takes',
		],
		[
			'a variant',
			{ ...pair, variants: { ...pair.variants, odd: { ...small, duration: -5 } } },
			'variants.odd.duration: got -5; takes',
		],
		[
			'a layer of a variant',
			{ ...pair, variants: { odd: { ...small, policies: { careful: [{ timeout: 'soon' }] } } } },
			"variants.odd.policies.careful[0].timeout: got 'soon'; takes",
		],
		[
			'no variants',
			{ ...pair, variants: {} },
			'Invalid option "variants": expected at least one scenario, got "{}"',
		],
		[
			'a variant that is none',
			{ ...pair, variants: { a: 3 } },
			'Invalid option "variants.a": expected a scenario, got 3',
		],
		['no title', { ...pair, title: undefined }, 'Invalid option "title": expected a value, got undefined'],
		[
			'an unknown field',
			{ ...pair, varants: {} },
			'Invalid option "varants": expected nothing, for, got [object Object]',
		],
		[
			'too few runs',
			{ ...pair, replications: 0 },
			'Invalid option "replications": expected a whole number from 1, got 0',
		],
		[
			'an unknown figure',
			{ ...pair, measures: ['speed'] },
			'Invalid option "measures[0]": expected \'goodShare\', got "speed"',
		],
		[
			'an unknown published figure',
			{ ...pair, reference: { none: { speed: { mean: 1, sd: 0, count: 5 } } } },
			'Invalid option "reference.none.speed": expected \'goodShare\', got "speed"',
		],
		[
			'a map without an axis',
			{ ...grid, x: undefined },
			'Invalid option "x": expected a value, got undefined',
		],
		['a map in JSON', { ...grid, at: 'there' }, 'Invalid option "at": expected a function, got "there"'],
		[
			'an axis of texts',
			{ ...grid, y: { label: 'y', values: ['a'] } },
			'Invalid option "y.values[0]": expected a num, got "a"',
		],
		[
			'a place on a map',
			{ ...grid, x: { label: 'load', values: [1, -2] } },
			"at(-2, 10, 'one').services.api.workers: got -2; takes",
		],
	])('%s', (_, given, told) => {
		expect(refusal(given)).toContain(`dir/mine.json: ${told}`)
	})

	test('a function of the user is not called before it can be interrupted', () => {
		const never = () => {
			throw new Error('called')
		}
		expect(checkedStudy({ ...small, policies: { careful: never } }, 'mine.ts')).toBeDefined()
		expect(refusal({ ...small, policies: { careful: never }, duration: -1 })).toContain(
			/Invalid option "duration": expected .*, got -1/,
		)
	})

	test('a map whose function throws is a failure of the file and not a mistake in how it was called', () => {
		const at = () => {
			throw new Error('no idea')
		}
		expect(() => checkedStudy({ ...grid, at }, 'mine.ts')).toThrow(
			expect.objectContaining({ kind: 'failure', message: 'mine.ts: no idea' }),
		)
	})
})
