/**
 * `npm run scenarios`: rewrites the charts of docs/scenarios, and the tables of the two studies that take too long for a test. The seeds
 * are fixed, so the output changes only if the simulator does.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run } from './tools.ts'

interface Estimated {
	readonly mean: number
	readonly sd: number
	readonly count: number
}

interface Case {
	readonly name: string
	readonly neverRecoveredShare: number
	readonly measures: Readonly<Record<string, Estimated>>
}

const folder = join(ROOT, 'docs', 'scenarios')
const names = [
	'aws',
	'budgets',
	'hedging',
	'herd',
	'layered',
	'mail',
	'metastable',
	'rate-limit',
	'slow-dependency',
]

/** Runs a study, writes its chart and returns its results. */
function simulated(name: string): readonly Case[] {
	const out = join(folder, `${name}.svg`)
	const ran = run(process.execPath, [
		join(ROOT, 'dist', 'cli', 'main.js'),
		'simulate',
		name,
		'--out',
		out,
		'--json',
		'--quiet',
	])
	if (!ran.ok) throw new Error(ran.output)
	return (JSON.parse(ran.stdout) as { readonly cases: readonly Case[] }).cases
}

/** Replaces the rows of the first table of a page. */
function writeTable(name: string, rows: readonly (readonly string[])[]): void {
	const path = join(folder, `${name}.md`)
	const [before = '', after = ''] = readFileSync(path, 'utf8').split(/(?<=^\|[-|]+\|\n)(?:\|.*\n)*/m)
	writeFileSync(path, before + rows.map((row) => `| ${row.join(' | ')} |\n`).join('') + after)
}

const figure = (value: number): string =>
	value.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/** For each remedy, the number of cells of its map in which every run recovered. */
function remedies(cases: readonly Case[]): readonly (readonly string[])[] {
	return [...new Set(cases.map(({ name }) => name))].map((name) => {
		const cells = cases.filter((one) => one.name === name)
		return [
			name,
			`${cells.filter(({ neverRecoveredShare }) => neverRecoveredShare === 0).length} of ${cells.length}`,
		]
	})
}

/** Our result, the published result, and the difference in standard errors. */
async function published(cases: readonly Case[]): Promise<readonly (readonly string[])[]> {
	const { aws } = await import('../src/sim/scenarios/aws.ts')
	const { standardErrors } = await import('../src/sim/measure/estimate.ts')
	return cases.map(({ name, measures }) => [
		name,
		...(['requests', 'lastResponseAtMs'] as const).flatMap((measure) => {
			const [ours, theirs] = [measures[measure], aws.reference?.[name]?.[measure]]
			if (!ours || !theirs) return ['', '', '']
			const errors = standardErrors(ours, theirs)
			return [figure(ours.mean), figure(theirs.mean), `${errors < 0 ? '' : '+'}${figure(errors)} SE`]
		}),
	])
}

for (const name of names) {
	const cases = simulated(name)
	if (name === 'metastable') writeTable(name, remedies(cases))
	if (name === 'aws') writeTable(name, await published(cases))
	console.log(`${name}: ${cases.length} cases`)
}
