import { expect, test } from 'vitest'
import { Simulation } from '../../../src/sim/run/simulation.ts'
import { listCases } from '../../../src/sim/run/study.ts'
import { scenarios } from '../../../src/sim/scenarios/catalog.ts'
import { named, page, table } from '../../examples/markdown.ts'

const names = Object.keys(scenarios)

test('every scenario can be run: nothing in any of its cases is refused', async () => {
	for (const [name, load] of Object.entries(scenarios)) {
		const study = await load()
		expect(study.title, name).not.toBe('')
		expect(study.description, name).not.toBe('')
		for (const { scenario } of listCases(study)) expect(() => new Simulation(scenario), name).not.toThrow()
	}
})

test('the index of the documentation lists each of them, and leads to its page', () => {
	const rows = table(page('docs/scenarios/README.md'), 'scenario', 'question', 'answer')
	expect(rows.map(([cell = '']) => named(cell)[0])).toEqual(names)
	for (const [cell = ''] of rows) expect(cell).toMatch(/^\[`([\w-]+)`\]\(\1\.md\)$/)
})

test('they are in the order of their names', () => {
	expect(names).toEqual([...names].sort())
})
