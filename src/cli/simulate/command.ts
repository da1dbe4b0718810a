/** `yaoki simulate` and its options. Its implementation is loaded when it runs, so help is fast. */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import { type Arguments, flag, integer, text, toFlag } from '../option-tables.ts'

const SIMULATE_OPTIONS = {
	list: flag('list the scenarios of the package', 'l'),
	out: text('FILE', 'write the result to a .svg, .html or .json file', { short: 'o', multiple: true }),
	assert: text(
		'CHECK',
		"exit with 4 unless it holds in every run: 'p99Ms<500', 'VARIANT: amplification<1.2'",
		{ short: 'a', multiple: true },
	),
	variant: text('NAME', 'run only this variant', { multiple: true }),
	seed: text('SEED', 'seed of the first run, a number or a text', { short: 's' }),
	replications: integer('N', 'runs of each variant, each with the next seed', {
		short: 'n',
		min: 1,
		max: 1e6,
	}),
	maxEvents: integer('N', 'end a run after this many events', { min: 1 }),
	workers: integer('N', 'number of threads; default: number of cores', { short: 'w', min: 1, max: 512 }),
	incident: text('FILE', 'replay an incident from recorded events (JSON lines)', { short: 'i' }),
	policy: text('FILE', 'with --incident: the policy to try, .json, .js or .ts'),
	pipeline: text('NAME', 'with --incident: use the events of this pipeline'),
	fromPolicy: text('NAME', 'with --incident: use the events of this policy', { multiple: true }),
	capacity: integer('N', 'with --incident: how many requests the service processes concurrently', { min: 1 }),
}

const SIMULATE_POSITIONALS = {
	scenario: {
		placeholder: 'NAME|FILE',
		description: 'a scenario of the package, or a .json, .js or .ts file; default: list the scenarios',
		optional: true,
	},
} as const

export type SimulateArguments = Arguments<typeof SIMULATE_OPTIONS, typeof SIMULATE_POSITIONALS>

export const simulate: Command = defineCommand({
	examples: [
		['yaoki simulate herd', 'a thousand clients return after an outage, with five kinds of backoff'],
		[
			'yaoki simulate metastable --out metastable.svg',
			'which policies recover from a slowdown, as a heat map',
		],
		[
			'yaoki simulate my-service.ts --assert "recoveredAfterMs<=5000"',
			'your own service as a CI check: exit code 4 if a run recovers too late',
		],
		['yaoki simulate --incident events.jsonl', 'replay an incident with other policies'],
	],
	options: SIMULATE_OPTIONS,
	positionals: SIMULATE_POSITIONALS,
	async run(args, io) {
		checkCombinations(args)
		const seed = parseSeed(args.seed)
		if (args.list || (args.scenario === undefined && args.incident === undefined)) {
			const { listScenarios } = await import('./study-source.ts')
			await listScenarios(io)
			return 'ok'
		}
		const { runStudy } = await import('./run-study.ts')
		return runStudy({ ...args, seed }, io)
	},
})

/** Rejects options that would be ignored silently. An assertion without a study must not pass. */
function checkCombinations(args: SimulateArguments): void {
	const { scenario, incident, out, assert, variant } = args
	if (scenario !== undefined && incident !== undefined)
		throw new CliError('usage', `Give either "${scenario}" or --incident, not both.`)
	if (incident !== undefined) return
	if (scenario === undefined && out.length + assert.length + variant.length > 0)
		throw new CliError('usage', `Missing argument NAME|FILE: ${SIMULATE_POSITIONALS.scenario.description}.`)
	const given = {
		...{ policy: args.policy, pipeline: args.pipeline, capacity: args.capacity },
		fromPolicy: args.fromPolicy[0],
	}
	for (const [name, value] of Object.entries(given))
		if (value !== undefined) throw new CliError('usage', `${toFlag(name)} requires --incident.`)
}

/** Any text is a seed, also `NaN`. An empty text is an unset variable of a script. */
function parseSeed(seed: string | undefined): number | string | undefined {
	if (seed === '') throw new InvalidOptionError('--seed', seed, 'a number or a text')
	return seed !== undefined && Number.isFinite(Number(seed)) && seed.trim() !== '' ? Number(seed) : seed
}
