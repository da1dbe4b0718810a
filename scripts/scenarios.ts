/**
 * `npm run scenarios`: redraws the charts of docs/scenarios, and writes the tables that take too long for a test. The
 * seeds are fixed, so nothing changes unless the simulator does.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run } from './tools.ts'

type Rows = readonly (readonly string[])[]

interface Estimate {
	readonly mean: number
	readonly sd: number
	readonly count: number
}

interface Case {
	readonly name: string
	readonly neverRecoveredShare: number
	readonly notShownShare: number
	readonly measures: Readonly<Record<string, Estimate>>
}

const folder = join(ROOT, 'docs', 'scenarios')
const names = [
	'aws',
	'breakers',
	'budgets',
	'hedging',
	'herd',
	'instances',
	'layered',
	'mail',
	'metastable',
	'pause',
	'rate-limit',
	'slow-dependency',
]

/** Runs a study, writes its chart, and returns its cases. */
function runStudy(name: string): readonly Case[] {
	const out = join(folder, `${name}.svg`)
	const result = run(process.execPath, [
		join(ROOT, 'dist', 'cli', 'main.js'),
		'simulate',
		name,
		'--out',
		out,
		'--json',
		'--quiet',
	])
	if (!result.ok) throw new Error(result.output)
	return (JSON.parse(result.stdout) as { readonly cases: readonly Case[] }).cases
}

/** Replaces the rows of the table of a page whose first column has this head. */
function writeTable(name: string, head: string, rows: Rows): void {
	const path = join(folder, `${name}.md`)
	const lines = readFileSync(path, 'utf8').split('\n')
	const first = lines.findIndex((line) => line.startsWith(`| ${head} |`)) + 2
	if (first < 2) throw new Error(`${path} has no table with the column ${head}`)
	const count = lines.slice(first).findIndex((line) => !line.startsWith('|'))
	lines.splice(first, count, ...rows.map((row) => `| ${row.join(' | ')} |`))
	writeFileSync(path, lines.join('\n'))
}

const formatTenths = (value: number): string =>
	value.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/** Whether every run recovered that was long enough to tell. */
const isRecovered = ({ neverRecoveredShare, notShownShare }: Case): boolean =>
	neverRecoveredShare === 0 && notShownShare < 1

/** Counts, per remedy, the cells of its map in which every run recovered. */
function countRecovered(cases: readonly Case[]): Rows {
	return [...new Set(cases.map(({ name }) => name))].map((name) => {
		const cells = cases.filter((one) => one.name === name)
		return [name, `${cells.filter(isRecovered).length} of ${cells.length}`]
	})
}

/** Returns our figure, the published one, and the difference in standard errors. */
async function compareToPublished(cases: readonly Case[]): Promise<Rows> {
	const { aws } = await import('../src/sim/scenarios/aws.ts')
	const { standardErrors } = await import('../src/sim/measure/estimate.ts')
	return cases.map(({ name, measures }) => [
		name,
		...(['requests', 'lastResponseAtMs'] as const).flatMap((measure) => {
			const [ours, theirs] = [measures[measure], aws.reference?.[name]?.[measure]]
			if (!ours || !theirs) return ['', '', '']
			const errors = standardErrors(ours, theirs)
			return [
				formatTenths(ours.mean),
				formatTenths(theirs.mean),
				`${errors < 0 ? '' : '+'}${formatTenths(errors)} SE`,
			]
		}),
	])
}

for (const name of names) {
	const cases = runStudy(name)
	if (name === 'breakers') {
		const { chainTable, outageTable } = await import('./scenarios/breakers.ts')
		writeTable(name, 'in a chain', chainTable())
		writeTable(name, 'outage', outageTable())
	}
	if (name === 'metastable') {
		const { countCalmRuns, countChangedCells } = await import('./scenarios/metastable.ts')
		writeTable(name, 'remedy', countRecovered(cases))
		writeTable(name, 'full jitter with', countChangedCells())
		writeTable(name, 'without any fault', countCalmRuns())
	}
	if (name === 'aws') writeTable(name, 'clients, strategy', await compareToPublished(cases))
	console.log(`${name}: ${cases.length} cases`)
}
