import { describe, expect, test } from 'vitest'
import { scenarios } from 'yaoki/sim'
import { type Question, sourceOf, studyFrom } from '../../../src/cli/simulate/source.ts'
import { namesOf } from '../../../src/cli/simulate/variant-names.ts'
import { listCases } from '../../../src/sim/run/study.ts'
import { Folder, pair, small } from './files.ts'

describe('a word', () => {
	test('is a scenario that is shipped, if there is one of that name', () => {
		expect(sourceOf('herd')).toEqual({ kind: 'shipped', name: 'herd' })
	})

	test.each(['mine.json', './herd', 'a/b.ts', 'herd.ts', 'x.MJS'])(
		'is a file when it looks like one: %s',
		(file) => {
			expect(sourceOf(file)).toEqual({ kind: 'file', file })
		},
	)

	test.each([
		['hred', 'Unknown scenario "hred". Did you mean "herd"?'],
		['nonsense', 'Unknown scenario "nonsense".'],
		['toString', 'Unknown scenario "toString".'],
		['mine.yaml', 'Unknown scenario "mine.yaml".'],
	])('that is neither is not found, and those that are there are named: %s', (word, message) => {
		expect(() => sourceOf(word)).toThrow(
			expect.objectContaining({ kind: 'notFound', message, hint: expect.stringContaining('aws, budgets, ') }),
		)
	})
})

describe('a study', () => {
	const shipped = (variants: readonly string[]): Question => ({
		source: { kind: 'shipped', name: 'metastable' },
		variants,
	})

	test('has all of its cases where none is named', async () => {
		const metastable = await scenarios['metastable']?.()
		expect(await studyFrom(shipped([]))).toBe(metastable)
	})

	test('has only the panels that are asked for, in their own order', async () => {
		const all = namesOf(await studyFrom(shipped([])))
		const [first, second] = [all[0] ?? '', all[1] ?? '']
		const some = await studyFrom(shipped([second, first]))
		expect(namesOf(some)).toEqual([first, second])
		expect(new Set(listCases(some).map(({ name }) => name))).toEqual(new Set([first, second]))
	})

	test('has only the variants that are asked for', async () => {
		const file = new Folder().write('pair.json', pair)
		const source = { kind: 'file', file } as const
		expect(await studyFrom({ source, variants: ['none'] })).toMatchObject({ title: 'Two ways' })
		expect(namesOf(await studyFrom({ source, variants: ['none'] }))).toEqual(['none'])
		await expect(studyFrom({ source, variants: ['nine'] })).rejects.toMatchObject({
			kind: 'usage',
			message: 'Unknown value "nine" for --variant. Did you mean "none"? Valid values: retries, none.',
		})
	})

	test('of a file is the one in it', async () => {
		const file = new Folder().write('mine.json', small)
		expect(await studyFrom({ source: { kind: 'file', file }, variants: [] })).toMatchObject({ title: 'mine' })
	})

	test('that is gone from the package is not found', async () => {
		await expect(studyFrom({ source: { kind: 'shipped', name: 'x' }, variants: [] })).rejects.toMatchObject({
			kind: 'notFound',
		})
	})
})
