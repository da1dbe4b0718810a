import { describe, expect, test } from 'vitest'
import { InvalidOptionError } from 'yaoki'
import { type GridStudy, scenarios } from 'yaoki/sim'
import { CliError } from '../../../src/cli/errors.ts'
import { checkStudy } from '../../../src/cli/simulate/check-study.ts'
import { pair, small } from './files.ts'

function failureOf(given: unknown): CliError {
	try {
		checkStudy(given, 'dir/mine.json')
	} catch (error) {
		if (error instanceof CliError && error.kind === 'usage') return error
		throw error
	}
	throw new Error('the study was accepted')
}

function invalidOptionOf(given: unknown): InvalidOptionError {
	const { cause, message } = failureOf(given)
	if (!(cause instanceof InvalidOptionError)) throw new Error(`unexpected cause of "${message}"`)
	expect(message).toBe(`dir/mine.json: ${cause.message}`)
	return cause
}

const grid: GridStudy = {
	title: 'A grid',
	description: '',
	x: { label: 'load', values: [1, 2] },
	y: { label: 'length', values: [10], format: String },
	panels: ['one'],
	at: (x) => ({ ...small, services: { api: { serviceTimeMs: 5, workers: x } } }),
}

const api = { ...small.services['api'] }

describe('checkStudy', () => {
	test('returns a study with one variant for a scenario, named after it or its file', () => {
		expect(checkStudy(small, 'dir/mine.json')).toMatchObject({ title: 'mine', variants: { mine: small } })
		expect(checkStudy({ ...small, name: 'Ours' }, 'dir/mine.ts')).toMatchObject({ title: 'Ours' })
	})

	test.each([
		['variants', pair],
		['a grid', grid],
	])('returns a study with %s unchanged', (_, study) => {
		expect(checkStudy(study, 'mine.ts')).toBe(study)
	})

	test.each(Object.entries(scenarios))('accepts the built-in scenario %s', async (_, load) => {
		const study = await load()
		expect(checkStudy(study, 'mine.ts')).toBe(study)
	})

	test.each([[5], [[small]], [null]])('rejects %j, which is not an object', (given) => {
		expect(failureOf(given).message).toBe('dir/mine.json must contain a scenario or a study, as an object.')
	})

	test.each<[string, unknown, string, unknown]>([
		[
			'an invalid scenario',
			{ ...small, services: { api: { ...api, workers: -1 } } },
			'services.api.workers',
			-1,
		],
		['an unknown field of a scenario', { ...small, polices: {} }, 'polices', {}],
		[
			'a layer of a policy',
			{ ...small, policies: { careful: [{ retry: { maxRetries: -1 } }] } },
			'policies.careful[0].retry.maxRetries',
			-1,
		],
		[
			'a variant',
			{ ...pair, variants: { ...pair.variants, odd: { ...small, durationMs: -5 } } },
			'variants.odd.durationMs',
			-5,
		],
		[
			'a layer of a variant',
			{ ...pair, variants: { odd: { ...small, policies: { careful: [{ timeoutMs: 'soon' }] } } } },
			'variants.odd.policies.careful[0].timeoutMs',
			'soon',
		],
		['no variants', { ...pair, variants: {} }, 'variants', '{}'],
		['a variant that is not an object', { ...pair, variants: { a: 3 } }, 'variants.a', 3],
		['no title', { ...pair, title: undefined }, 'title', undefined],
		['an unknown field', { ...pair, varants: {} }, 'varants', {}],
		['an unknown chart', { ...pair, chart: 'queue' }, 'chart', 'queue'],
		['an unknown service', { ...pair, services: ['web'] }, 'services', 'web'],
		['services as a text', { ...pair, services: 'api' }, 'services', 'api'],
		['services of clients', { ...pair, chart: 'responses', services: 'all' }, 'chart', 'responses'],
		['too few replications', { ...pair, replications: 0 }, 'replications', 0],
		['an unknown measure', { ...pair, measures: ['speed'] }, 'measures[0]', 'speed'],
		[
			'an unknown measure of a reference',
			{ ...pair, reference: { none: { speed: { mean: 1, sd: 0, count: 5 } } } },
			'reference.none.speed',
			'speed',
		],
		['a grid without an axis', { ...grid, x: undefined }, 'x', undefined],
		['a grid in JSON', { ...grid, at: 'there' }, 'at', 'there'],
		['an axis with texts', { ...grid, y: { label: 'y', values: ['a'] } }, 'y.values[0]', 'a'],
		[
			'a cell of a grid',
			{ ...grid, x: { label: 'load', values: [1, -2] } },
			"at(-2, 10, 'one').services.api.workers",
			-2,
		],
	])('rejects %s with its path and its value', (_, given, optionPath, received) => {
		const error = invalidOptionOf(given)
		expect({ optionPath: error.optionPath, received: error.received }).toEqual({ optionPath, received })
		expect(error.expected).not.toBe('')
	})

	test('does not call functions of the user, which could not be interrupted', () => {
		const never = () => {
			throw new Error('called')
		}
		expect(checkStudy({ ...small, policies: { careful: never } }, 'mine.ts')).toBeDefined()
		const invalid = { ...small, policies: { careful: never }, durationMs: -1 }
		expect(invalidOptionOf(invalid)).toMatchObject({ optionPath: 'durationMs', received: -1 })
	})

	test('fails with exit code 1 if the function of a grid throws', () => {
		const at = () => {
			throw new Error('no idea')
		}
		expect(() => checkStudy({ ...grid, at }, 'mine.ts')).toThrow(
			expect.objectContaining({ kind: 'failure', message: 'mine.ts: no idea' }),
		)
	})
})
