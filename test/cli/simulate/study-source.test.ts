import { describe, expect, test } from 'vitest'
import { scenarios } from 'yaoki/sim'
import {
	loadStudy,
	resolveSource,
	type StudyRequest,
	variantNames,
} from '../../../src/cli/simulate/study-source.ts'
import { listCases } from '../../../src/sim/run/study.ts'
import { Folder, pair, small } from './files.ts'

describe('resolveSource', () => {
	test('returns a built-in scenario', () => {
		expect(resolveSource('herd')).toEqual({ kind: 'built-in', name: 'herd' })
	})

	test.each(['mine.json', './herd', 'a/b.ts', 'herd.ts', 'x.MJS'])('returns a file for %s', (file) => {
		expect(resolveSource(file)).toEqual({ kind: 'file', file })
	})

	test.each([
		['hred', 'Unknown scenario "hred". Did you mean "herd"?'],
		['nonsense', 'Unknown scenario "nonsense".'],
		['toString', 'Unknown scenario "toString".'],
		['mine.yaml', 'Unknown scenario "mine.yaml".'],
	])('rejects %s and names the scenarios', (argument, message) => {
		expect(() => resolveSource(argument)).toThrow(
			expect.objectContaining({
				kind: 'notFound',
				message,
				hint: expect.stringContaining('aws, breakers, budgets, '),
			}),
		)
	})
})

describe('loadStudy', () => {
	const builtIn = (variants: readonly string[]): StudyRequest => ({
		source: { kind: 'built-in', name: 'metastable' },
		variants,
	})

	test('returns all variants by default', async () => {
		const metastable = await scenarios['metastable']?.()
		expect(await loadStudy(builtIn([]))).toBe(metastable)
	})

	test('returns the requested panels in their original order', async () => {
		const all = variantNames(await loadStudy(builtIn([])))
		const [first, second] = [all[0] ?? '', all[1] ?? '']
		const some = await loadStudy(builtIn([second, first]))
		expect(variantNames(some)).toEqual([first, second])
		expect(new Set(listCases(some).map(({ name }) => name))).toEqual(new Set([first, second]))
	})

	test('returns the requested variants', async () => {
		const file = new Folder().write('pair.json', pair)
		const source = { kind: 'file', file } as const
		expect(await loadStudy({ source, variants: ['none'] })).toMatchObject({ title: 'Two ways' })
		expect(variantNames(await loadStudy({ source, variants: ['none'] }))).toEqual(['none'])
		await expect(loadStudy({ source, variants: ['nine'] })).rejects.toMatchObject({
			kind: 'usage',
			message: 'Unknown value "nine" for --variant. Did you mean "none"? Valid values: retries, none.',
		})
	})

	test('returns the study of a file', async () => {
		const file = new Folder().write('mine.json', small)
		expect(await loadStudy({ source: { kind: 'file', file }, variants: [] })).toMatchObject({ title: 'mine' })
	})

	test('rejects an unknown built-in scenario', async () => {
		await expect(loadStudy({ source: { kind: 'built-in', name: 'x' }, variants: [] })).rejects.toMatchObject({
			kind: 'notFound',
		})
	})
})
