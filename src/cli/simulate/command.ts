/** The options of `yaoki simulate`. Its implementation is loaded when it runs, so help is fast. */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import { type Arguments, toFlag } from '../option-tables.ts'

const OPTIONS = {
	list: { type: 'boolean', short: 'l', description: 'list the scenarios of the package' },
	out: {
		type: 'string',
		short: 'o',
		placeholder: 'FILE',
		multiple: true,
		description: 'write the result to a .svg, .html or .json file',
	},
	assert: {
		type: 'string',
		short: 'a',
		placeholder: 'CHECK',
		multiple: true,
		description: "exit with 4 unless it holds in every run: 'p99Ms<500', 'VARIANT: amplification<1.2'",
	},
	variant: { type: 'string', placeholder: 'NAME', multiple: true, description: 'run only this variant' },
	seed: { type: 'string', short: 's', placeholder: 'SEED', description: 'first seed, a number or a text' },
	replications: {
		type: 'integer',
		short: 'n',
		placeholder: 'N',
		min: 1,
		max: 1e6,
		description: 'runs of each variant, each with the next seed',
	},
	maxEvents: {
		type: 'integer',
		placeholder: 'N',
		min: 1,
		description: 'end a run after this many events',
	},
	workers: {
		type: 'integer',
		short: 'w',
		placeholder: 'N',
		min: 1,
		max: 512,
		description: 'number of threads; default: number of cores',
	},
	incident: {
		type: 'string',
		short: 'i',
		placeholder: 'FILE',
		description: 'replay an incident from recorded events (JSON lines)',
	},
	policy: {
		type: 'string',
		placeholder: 'FILE',
		description: 'with --incident: the policy to try, .json, .js or .ts',
	},
	pipeline: {
		type: 'string',
		placeholder: 'NAME',
		description: 'with --incident: use the events of this pipeline',
	},
	fromPolicy: {
		type: 'string',
		placeholder: 'NAME',
		multiple: true,
		description: 'with --incident: use the events of this policy',
	},
	capacity: {
		type: 'integer',
		placeholder: 'N',
		min: 1,
		description: 'with --incident: how many requests the service processes concurrently',
	},
} as const

const POSITIONALS = {
	scenario: {
		placeholder: 'NAME|FILE',
		description: 'a scenario of the package, or a .json, .js or .ts file; default: list the scenarios',
		optional: true,
	},
} as const

type SimulateArguments = Arguments<typeof OPTIONS, typeof POSITIONALS>

export const simulate: Command = defineCommand({
	examples: [
		{
			command: 'yaoki simulate herd',
			description: 'a thousand clients return after an outage, with five kinds of backoff',
		},
		{
			command: 'yaoki simulate metastable --out metastable.svg',
			description: 'which policies recover from an outage, as a heat map',
		},
		{
			command: 'yaoki simulate my-service.ts --assert "recoveredAfterMs<=5000"',
			description: 'your own service as a CI check: exit code 4 if a run recovers too late',
		},
		{
			command: 'yaoki simulate --incident events.jsonl',
			description: 'replay an incident with other policies',
		},
	],
	options: OPTIONS,
	positionals: POSITIONALS,
	async run(args, io) {
		checkCombinations(args)
		const seed = parseSeed(args.seed)
		if (args.list || (args.scenario === undefined && args.incident === undefined)) {
			const { listScenarios } = await import('./list-scenarios.ts')
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
		throw new CliError('usage', `Missing argument NAME|FILE: ${POSITIONALS.scenario.description}.`)
	const given = {
		...{ policy: args.policy, pipeline: args.pipeline, capacity: args.capacity },
		fromPolicy: args.fromPolicy[0],
	}
	for (const [name, value] of Object.entries(given))
		if (value !== undefined) throw new CliError('usage', `${toFlag(name)} requires --incident.`)
}

/** Any text is a seed, also `NaN`. An empty text is an unset variable of a script. */
function parseSeed(text: string | undefined): number | string | undefined {
	if (text === '') throw new InvalidOptionError('--seed', text, 'a number or a text')
	return text !== undefined && Number.isFinite(Number(text)) && text.trim() !== '' ? Number(text) : text
}
