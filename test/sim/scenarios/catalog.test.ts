import { expect, test } from 'vitest'
import { Simulation } from '../../../src/sim/run/simulation.ts'
import { listCases } from '../../../src/sim/run/study.ts'
import { scenarios } from '../../../src/sim/scenarios/catalog.ts'
import { named, page, table } from '../../examples/markdown.ts'

const names = Object.keys(scenarios)

test('every case of every scenario is valid', async () => {
	for (const [name, load] of Object.entries(scenarios)) {
		const study = await load()
		expect(study.title, name).not.toBe('')
		expect(study.description, name).not.toBe('')
		for (const { scenario } of listCases(study)) expect(() => new Simulation(scenario), name).not.toThrow()
	}
})

test('the index of the documentation lists every scenario and links to its page', () => {
	const rows = table(page('docs/scenarios/README.md'), 'scenario', 'question', 'result')
	expect(rows.map(([cell = '']) => named(cell)[0])).toEqual(names)
	for (const [cell = ''] of rows) expect(cell).toMatch(/^\[`([\w-]+)`\]\(\1\.md\)$/)
})

test('the scenarios are sorted by name', () => {
	expect(names).toEqual([...names].sort())
})
