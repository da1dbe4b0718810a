import { describe, expect, it } from 'vitest'
import { InvalidArgumentError } from 'yaoki'
import type { GridStudy, VariantStudy } from 'yaoki/sim'
import { isGrid, listCases, toStudy } from '../../../src/sim/run/study.ts'
import { setup } from '../setup.ts'

const variants: VariantStudy = {
	title: 'Which?',
	description: 'Two of them.',
	variants: { second: setup(), first: { ...setup(), name: 'its own' } },
}
const grid: GridStudy = {
	title: 'Where?',
	description: 'A map.',
	panels: ['none', 'full'],
	x: { label: 'across', values: [1, 2, 3] },
	y: { label: 'down', values: [10, 20] },
	at: (x, y, panel) => ({ ...setup(), name: `${panel} ${x} ${y}` }),
}

describe('a study', () => {
	it('has a case for each variant, in order', () => {
		expect(isGrid(variants)).toBe(false)
		expect(listCases(variants).map(({ name, scenario }) => [name, scenario.name])).toEqual([
			['second', 'second'],
			['first', 'first'],
		])
	})

	it('has a case for each panel and pair of values of a grid, row by row', () => {
		expect(isGrid(grid)).toBe(true)
		const cases = listCases(grid)
		expect(cases).toHaveLength(12)
		expect(cases.slice(0, 4).map(({ x, y }) => [x, y])).toEqual([
			[1, 10],
			[2, 10],
			[3, 10],
			[1, 20],
		])
		for (const { name, x, y, scenario } of cases) expect(scenario.name).toBe(`${name} ${x} ${y}`)
	})

	it('has cases that cover the same time, even until recovered', () => {
		const until = { ...setup({ rest: { durationMs: 9_000 } }), until: 'recovered' } as const
		const cases = [
			...listCases({ ...variants, variants: { one: until } }),
			...listCases({ ...grid, at: () => until }),
		]
		for (const { scenario } of cases) {
			expect(scenario.until).toBe(undefined)
			expect(scenario.durationMs).toBe(9_000)
		}
		expect(listCases({ ...variants, variants: { one: setup() } })[0]?.scenario.until).toBe('idle')
	})

	it('wraps a single scenario, under its name or that of its file', () => {
		expect(toStudy(variants, 'file')).toBe(variants)
		expect(toStudy(grid, 'file')).toBe(grid)
		expect(toStudy(setup(), 'file')).toMatchObject({ title: 'file', variants: { file: setup() } })
		expect(toStudy({ ...setup(), name: 'mine' }, 'file')).toMatchObject({ title: 'mine' })
	})

	it.each([undefined, null, 5, 'scenario'])('rejects %s', (given) => {
		expect(() => toStudy(given as never, 'file.json')).toThrow(InvalidArgumentError)
		expect(() => toStudy(given as never, 'file.json')).toThrow('a scenario or a study')
	})
})
